"""The arithmetic of serving large language models: sizes, times, rates and costs in closed form.

One rule says what stands here: every public function, class and record of the formulas, and nothing of the wings
`scaling.engines` and `scaling.course`, which need more than the standard library.
"""

from scaling.batching import (
    Request as Request,
    RequestTimes as RequestTimes,
    Span as Span,
    Step as Step,
    Timeline as Timeline,
    timeline as timeline,
)
from scaling.chips import (
    A10G as A10G,
    A100 as A100,
    A100_40 as A100_40,
    B200 as B200,
    CATALOGUE as CATALOGUE,
    GB200 as GB200,
    GH200 as GH200,
    H20 as H20,
    H100 as H100,
    H100_TEXT as H100_TEXT,
    H200 as H200,
    L4 as L4,
    L40S as L40S,
    MI300X as MI300X,
    MI325X as MI325X,
    RTX_4090 as RTX_4090,
    RTX_5090 as RTX_5090,
    TPU_IRONWOOD as TPU_IRONWOOD,
    TPU_V5E as TPU_V5E,
    TPU_V5E_TEXT as TPU_V5E_TEXT,
    TPU_V5P as TPU_V5P,
    TPU_V5P_TEXT as TPU_V5P_TEXT,
    TPU_V6E as TPU_V6E,
    Chip as Chip,
)
from scaling.deployment import (
    ROOFLINE as ROOFLINE,
    Deployment as Deployment,
    Efficiency as Efficiency,
    parallel_sizes as parallel_sizes,
)
from scaling.disaggregation import (
    Eviction as Eviction,
    eviction_rate as eviction_rate,
    prefill_decode_ratio as prefill_decode_ratio,
    transfer_time as transfer_time,
)
from scaling.latency import (
    StepTime as StepTime,
    decode_step as decode_step,
    matmul_time as matmul_time,
    mixed_step as mixed_step,
    prefill_floor as prefill_floor,
    prefill_time as prefill_time,
)
from scaling.layers import (
    Experts as Experts,
    Latent as Latent,
    Window as Window,
)
from scaling.memory import (
    Activations as Activations,
    activation_bytes as activation_bytes,
    cache_budget as cache_budget,
    cache_bytes as cache_bytes,
    fits as fits,
    grouped_weight_bytes as grouped_weight_bytes,
    max_batch as max_batch,
    min_chips as min_chips,
    weight_bytes as weight_bytes,
)
from scaling.models import (
    LLAMA2_7B as LLAMA2_7B,
    LLAMA2_13B as LLAMA2_13B,
    LLAMA2_70B as LLAMA2_70B,
    LLAMA3_8B as LLAMA3_8B,
    LLAMA3_70B as LLAMA3_70B,
    LLAMA3_405B as LLAMA3_405B,
    LLAMA31_8B as LLAMA31_8B,
    LLAMA31_70B as LLAMA31_70B,
    LLAMA32_1B as LLAMA32_1B,
    LLAMA32_3B as LLAMA32_3B,
    LLAMA33_70B as LLAMA33_70B,
    Model as Model,
    from_hf_config as from_hf_config,
)
from scaling.pareto import (
    Front as Front,
    front as front,
)
from scaling.prefix import (
    PrefixTree as PrefixTree,
    saved_bytes as saved_bytes,
)
from scaling.roofline import (
    attention_flops as attention_flops,
    attention_intensity as attention_intensity,
    bandwidth_per_dollar as bandwidth_per_dollar,
    breakeven_price as breakeven_price,
    causal_flops as causal_flops,
    critical_batch as critical_batch,
    flops_per_dollar as flops_per_dollar,
    memory_per_dollar_hour as memory_per_dollar_hour,
    ridge_point as ridge_point,
)
from scaling.sharding import (
    across_machines as across_machines,
    collective_time as collective_time,
    hop_time as hop_time,
    link_bandwidth as link_bandwidth,
    matmul_collective_time as matmul_collective_time,
    slice_hops as slice_hops,
    tp_limit as tp_limit,
)
from scaling.throughput import (
    balanced_batch as balanced_batch,
    batch_at_step as batch_at_step,
    best_batch as best_batch,
    cache_over_compute_context as cache_over_compute_context,
    cache_over_weights_tokens as cache_over_weights_tokens,
    compute_ceiling as compute_ceiling,
    cost_per_hour as cost_per_hour,
    cost_per_million_tokens as cost_per_million_tokens,
    full_batch as full_batch,
    largest_batch as largest_batch,
    mfu as mfu,
    plateau as plateau,
    prefill_chips as prefill_chips,
    queries_per_second as queries_per_second,
    queries_per_second_per_chip as queries_per_second_per_chip,
    replicas_for as replicas_for,
    tokens_per_second as tokens_per_second,
    tokens_per_second_per_chip as tokens_per_second_per_chip,
)
