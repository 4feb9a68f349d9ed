"""What one chip holds when an engine has loaded a model, and what SGLang keeps back of the rest."""

from math import inf

from scaling._checks import positive, whole
from scaling.deployment import Deployment
from scaling.memory import weight_bytes
from scaling.models import Model
from scaling.units import MiB


def parallel_ways(model: Model) -> tuple[int, ...]:
    """Ways of tensor parallelism the engines accept: they divide the query heads, and divide or are a multiple of K."""
    Q, K = model.q_heads, model.kv_heads
    return tuple(n for n in range(1, Q + 1) if Q % n == 0 and (K % n == 0 or n % K == 0))


def chip_token_bytes(d: Deployment) -> float:
    """Cache bytes that one token takes on one chip: ``token_bytes = 2 L H b_kv max(1, K / N)``.
    [B/token per chip]

    Beyond K ways the heads are stored more than once, and a chip's share no longer shrinks.
    Leaves out the scales of a quantised cache: errs low.

    Raises ``ValueError`` for a number of chips that the heads do not allow.
    Source: SGLang 0.5.23 and vLLM 0.33.0, their code and start-up logs.
    """
    N, allowed = whole("chips", d.chips), parallel_ways(d.model)
    if N not in allowed:
        said = ", ".join(str(n) for n in allowed)
        raise ValueError(f"chips must be a number of ways that splits the heads of {d.model.name}: {said}, not {N}.")
    return d.model.kv_bytes_per_token(d.kv) / d.model.kv_heads * max(1, d.model.kv_heads // N)


def loaded_weight_bytes(d: Deployment) -> float:
    """Weight bytes on one chip, as an engine loads them. [B per chip]

    ``weights = (P b_w + P_rest max(0, 2 - b_w) + 2 L D H b_w (max(K, N) - K)) / N``: quantisation takes the matmuls of
    the layers; embeddings and norms, the rest, stay in 16 bits. Beyond K ways the key and value projections are stored
    more than once.

    Leaves out scales and buffers (0.01 to 0.1 GiB in the logs): errs low.

    Raises ``ValueError`` for a number of chips that is an array.
    Source: start-up logs of SGLang and vLLM.
    """
    m, N, b_w = d.model, whole("chips", d.chips), d.weight_size
    wide = (m.vocab_params + m.norm_params) * max(0.0, 2.0 - b_w)
    copied = 2 * m.layers * m.d_model * m.kv_heads * m.head_dim * b_w * (max(1.0, N / m.kv_heads) - 1.0)
    return (weight_bytes(d) + wide + copied) / N


# Memory of a GPU up to which [MiB]: tokens of a prefill chunk, largest decode batch in a graph below 4 ways and from 4.
_BY_MEMORY = (
    (20_480, 2048, 8, 8),
    (35_840, 4096, 48, 160),
    (61_440, 4096, 32, 160),
    (163_840, 8192, 256, 512),
    (inf, 16_384, 512, 512),
)
_PREFILL_GRAPHS = 58


def default_chunk(d: Deployment) -> int:
    """Tokens of one prefill chunk if nobody says otherwise: SGLang goes by the memory that the GPU reports. [tokens]

    Source: SGLang 0.5.23, the default of ``--chunked-prefill-size``.
    """
    return next(chunk for below, chunk, _, _ in _BY_MEMORY if d.chip.device_memory / MiB < below)


def default_mem_fraction(d: Deployment, *, chunked_prefill: float | None = None) -> float:
    """SGLang's own choice of ``--mem-fraction-static``, as an estimate. [-]

    What it keeps back, in MiB: ``512 + 1.5 max(chunk, 2048) + 128 N + 2 graph batch + 8 graphs``, at least 10240 above
    60 GiB. The constants move between releases, and other features keep back more: pass the fraction where it is known.

    Raises ``ValueError`` for a chunk that is not above 0.
    Source: SGLang 0.5.23, automatic setting of the fraction.
    """
    N, memory = whole("chips", d.chips), d.chip.device_memory / MiB
    _, usual, few, many = next(row for row in _BY_MEMORY if memory < row[0])
    chunk = usual if chunked_prefill is None else positive("chunked_prefill", chunked_prefill)
    reserve = 512 + 1.5 * max(chunk, 2048) + 128 * N + 2 * (few if N < 4 else many) + 8 * _PREFILL_GRAPHS
    if memory > 60 * 1024:
        reserve = max(reserve, 10_240)
    return max(0.0, round((memory - reserve) / memory, 3))
