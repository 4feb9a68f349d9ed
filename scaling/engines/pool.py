"""What one chip holds when an engine has loaded a model, and how many tokens the KV pool gets of the rest.

The engines start from different numbers. SGLang's fraction is of the memory that was free before loading, and covers
weights and pool; vLLM's is of the whole memory, and covers everything. Bytes in, bytes out; the "GB" that both print is
a GiB (`scaling.units.GiB`). `d.chips` are the tensor-parallel ways of one replica.

Where the engine works rank by rank, a list or a tuple holds one value per rank. NumPy arrays broadcast.
"""

from collections.abc import Callable
from dataclasses import replace
from math import inf, nan
from typing import NamedTuple

from scaling._array import Array, ceil, floor, maximum, minimum
from scaling._checks import finite, nonnegative, positive, record, share, shown, whole
from scaling.deployment import Deployment
from scaling.memory import weight_bytes
from scaling.models import Model
from scaling.units import GiB

# Between what a chip reports and what is free before loading, start-up logs of SGLang show 0.5 to 0.9 GiB.
_RUNTIME = 0.6 * GiB


def parallel_ways(model: Model) -> tuple[int, ...]:
    """Ways of tensor parallelism the engines accept: they divide the query heads, and divide or are a multiple of K."""
    Q, K = model.q_heads, model.kv_heads
    return tuple(n for n in range(1, Q + 1) if Q % n == 0 and (K % n == 0 or n % K == 0))


def chip_token_bytes(d: Deployment) -> float:
    """Cache bytes that one token takes on one chip: ``token_bytes = 2 L H b_kv max(1, K / N)``.
    [B/token per chip]

    Beyond K ways the heads are stored more than once, and a chip's share no longer shrinks. A latent cache has no heads
    and lies whole on each chip.
    Leaves out the scales of a quantised cache: errs low.

    Raises ``ValueError`` for a number of chips that the heads do not allow.
    Source: SGLang 0.5.23 and vLLM 0.33.0, their code and start-up logs.
    """
    record("d", d, Deployment)
    N, allowed = whole("chips", d.chips), parallel_ways(d.model)
    if N not in allowed:
        said = ", ".join(str(n) for n in allowed)
        raise ValueError(f"chips must be a number of ways that splits the heads of {d.model.name}: {said}, not {N}.")
    d.model.refuse_windows("d", "whose layers have pools of different sizes, unless token_bytes is given")
    return d.model.kv_bytes_per_token(d.kv) / d.model.kv_heads * max(1, d.model.kv_heads // N)


def loaded_weight_bytes(d: Deployment) -> float:
    """Weight bytes on one chip, as an engine loads them. [B per chip]

    ``weights = (P b_w + P_rest max(0, 2 - b_w) + 2 L D H b_w (max(K, N) - K)) / N``: quantisation takes the matrices of
    the layers; embeddings and norms, the rest, stay in 16 bits. Beyond K ways the key and value projections are stored
    more than once.

    Leaves out scales, for which see `weights_on_chip`, and buffers (0.01 to 0.1 GiB in vLLM's logs): errs low.

    Raises ``ValueError`` for a number of chips that is an array.
    Source: start-up logs of SGLang and vLLM.
    """
    record("d", d, Deployment)
    m, N, b_w = d.model, whole("chips", d.chips), d.weight_size
    wide = (m.params - m.attention_params - m.mlp_params) * max(0.0, 2.0 - b_w)
    one_head = 2 * m.d_model * m.head_dim if m.latent is None else m.latent.squeezing(m.d_model)
    copied = m.layers * one_head * m.kv_heads * b_w * (max(1.0, N / m.kv_heads) - 1.0)
    return (weight_bytes(replace(d, layout="label")) + wide + copied) / N


def weights_on_chip(d: Deployment) -> float:
    """`loaded_weight_bytes`, and in int4 and fp4 the scale of every group of weights. [B per chip]"""
    exact = replace(d, params="exact", chips=1)
    scales = weight_bytes(replace(exact, layout="loaded")) - loaded_weight_bytes(exact)
    return loaded_weight_bytes(d) + scales / d.chips


def free_memory(d: Deployment) -> float:
    """What a chip has free before an engine loads the weights, an estimate: less what CUDA takes of it. [B]"""
    return max(0.0, record("d", d, Deployment).chip.device_memory - _RUNTIME)


def stage_of(d: Deployment, stages: int) -> Deployment:
    """The largest of so many pipeline stages: its share of the chips, and of the layers, rounded up.

    Each stage counts with both embeddings, of which the first and the last have one: errs high in bytes.
    """
    if stages == 1:
        return d
    if d.model.window is not None or d.model.experts is not None:
        raise ValueError(f"stages must be 1 for a model whose layers are of several kinds such as {d.model.name}.")
    model = replace(d.model, layers=-(-d.model.layers // stages))
    return replace(d, model=model, chips=whole("chips", d.chips) // stages)


class KvPool(NamedTuple):
    """The pool an engine allocates.

    `tokens` it holds [tokens], `bytes` over the whole deployment [B], `per_chip_bytes` on each chip [B per chip].
    `concurrency`: requests [sequences] of `context` [tokens per sequence] at once, as vLLM prints it, not rounded.
    `budget`: what the engine finds for the pool [B per chip]. Negative when there is no room; the pool is then empty.
    `token_bytes`: what a token takes on one chip [B/token per chip]. `pages` [-] of `page_size` [tokens] each.
    `fraction` used [-], `minimum_fraction` above which the budget is positive [-]; NaN where no fraction counts.
    """

    tokens: Array
    bytes: Array
    concurrency: Array
    per_chip_bytes: Array
    budget: Array
    token_bytes: float
    page_size: int
    pages: Array
    context: int
    fraction: Array = nan
    minimum_fraction: Array = nan

    @property
    def fits(self) -> Array:
        """Whether one request of `context` tokens fits, without which vLLM does not start."""
        return self.concurrency >= 1

    def __str__(self) -> str:
        if hasattr(self.tokens, "ndim"):
            return repr(self)
        if self.tokens:
            return (
                f"{self.tokens:,} tokens, {self.per_chip_bytes / GiB:.2f} GiB a chip, "
                f"{self.concurrency:.2f} requests of {self.context:,} tokens"
            )
        said = f"no room: the budget of the pool is {self.budget / GiB:.2f} GiB a chip"
        if self.minimum_fraction != self.minimum_fraction:
            return said
        return f"{said}; the fraction, {self.fraction:.3f}, must be above {self.minimum_fraction:.3f}"


def sglang_pool(
    d: Deployment,
    *,
    free_before_load: Array = None,
    mem_fraction_static: Array,
    free_after_load: Array = None,
    weights: Array = None,
    page_size: int = 1,
    max_total_tokens: float = inf,
    context: int | None = None,
    token_bytes: float | None = None,
) -> KvPool:
    """Tokens in SGLang's pool, which is what loading left, less the share of the free memory that is to stay. [tokens]

    ::

        pool = free_after - (1 - m) free_before    tokens = page * floor(pool / (page * token_bytes))

    `free_before_load`, `free_after_load`: free memory around loading, the least of the ranks [B per chip]; if not
    given, what the device reports (the runtime takes some of it: errs high), and that less `weights`.
    `weights`: as loaded; `loaded_weight_bytes` if not given. [B per chip]
    `mem_fraction_static`: share m of the memory **free before loading**, for weights and pool. [-]
    `page_size`, `max_total_tokens`: of a page, and of the pool at most. [tokens]
    `context`: of one request for `concurrency`; the model's window if not given. [tokens per sequence]
    `token_bytes`: for a cache that `Model` does not describe, such as a latent one. [B/token per chip]

    Leaves out activations, graphs and communication, which take the rest of the memory if it is enough: errs high.

    Raises ``ValueError`` for nonsense; a pool without room is a value with a negative `budget`.
    Source: SGLang 0.3.0 to 0.5.23, its code and start-up logs.
    """
    before, after = _around_loading(d, min, free_before_load, free_after_load, weights)
    fraction = share("mem_fraction_static", mem_fraction_static)
    pool = pool_from_bytes(
        d, after - before * (1.0 - fraction), page_size=page_size, context=context, token_bytes=token_bytes
    )
    capped = minimum(pool.pages, floor(nonnegative("max_total_tokens", max_total_tokens) / page_size))
    return _filled(d, pool, capped)._replace(fraction=fraction, minimum_fraction=1.0 - after / before)


def mini_sglang_pool(
    d: Deployment,
    *,
    free_before_load: Array = None,
    memory_ratio: Array = 0.9,
    free_after_load: Array = None,
    weights: Array = None,
    page_size: int = 1,
    context: int | None = None,
    token_bytes: float | None = None,
) -> KvPool:
    """Tokens in Mini-SGLang's pool, which is a share of the free memory less what loading took. [tokens]

    ::

        pool = floor(m free_before) - (free_before - free_after)    tokens = page * floor(pool / (page * token_bytes))

    The arguments are those of `sglang_pool`, except that of several ranks the one with the **most** free memory counts;
    ranks that differ by more than 2 GiB are refused by the engine. `memory_ratio`: the share m. [-] It needs two pages
    to start.

    Leaves out what activations and graphs need, as `sglang_pool` does: errs high.

    Raises ``ValueError`` for nonsense; a pool without room is a value with a negative `budget`.
    Source: mini-sglang, python/minisgl/engine/engine.py, 2026-03.
    """
    before, after = _around_loading(d, max, free_before_load, free_after_load, weights)
    fraction = share("memory_ratio", memory_ratio)
    budget = floor(fraction * before) - (before - after)
    pool = pool_from_bytes(d, budget, page_size=page_size, context=context, token_bytes=token_bytes)
    return pool._replace(fraction=fraction, minimum_fraction=1.0 - after / before)


def vllm_pool(
    d: Deployment,
    *,
    non_torch: Array,
    activation_peak: Array,
    graphs: Array = 0.0,
    total_memory: Array = None,
    gpu_memory_utilization: Array = 0.92,
    weights: Array = None,
    block_size: int = 16,
    max_model_len: int | None = None,
    token_bytes: float | None = None,
) -> KvPool:
    """Tokens in vLLM's pool, which is a share of the whole memory less all that is not cache. [tokens]

    ::

        pool = u total - weights - activations - graphs - the rest    tokens = page * floor(pool / (page * token_bytes))

    The rank with the least room decides.
    `total_memory`: of the device, as it reports. [B per chip]
    `gpu_memory_utilization`: share u of it for **everything**. [-]
    `weights`: as loaded; `loaded_weight_bytes` if not given. [B per chip]
    `non_torch`: the rest, NCCL and the driver, 0.1 to 0.6 GiB in the logs, 5.7 GiB with 8 ways on H200. [B per chip]
    `activation_peak`: profiled at the token budget of a step, 1 to 10 GiB. [B per chip]
    `graphs`: subtracted since 0.21.0. [B per chip]
    `block_size`: of a page. [tokens]
    `max_model_len`: of one request; the model's window if not given. [tokens per sequence]

    Exact for what a start-up log states; what it does not state has to be estimated, which errs both ways.

    Raises ``ValueError`` for nonsense; a pool without room is a value with a negative `budget`.
    Source: vLLM 0.6 to 0.33.0, its code and start-up logs.
    """
    record("d", d, Deployment)
    fraction = share("gpu_memory_utilization", gpu_memory_utilization)
    block = whole("block_size", block_size)
    window = d.model.context_window if max_model_len is None else whole("max_model_len", max_model_len)
    given = {
        "total_memory": d.chip.device_memory if total_memory is None else total_memory,
        "weights": loaded_weight_bytes(d) if weights is None else weights,
        "non_torch": non_torch,
        "activation_peak": activation_peak,
        "graphs": graphs,
    }
    least: Array = inf
    needed: Array = 0.0
    for total, *taken in _ranks(given):
        total, used = positive("total_memory", total), sum(taken)
        least = minimum(least, ceil(total * fraction) - used)
        needed = maximum(needed, used / total)
    pool = pool_from_bytes(d, least, page_size=block, context=window, token_bytes=token_bytes)
    return pool._replace(fraction=fraction, minimum_fraction=needed)


def megatron_pool(
    d: Deployment,
    *,
    buffer: Array = 40 * GiB,
    block_size: int = 256,
    context: int | None = None,
    token_bytes: float | None = None,
) -> KvPool:
    """Tokens in Megatron's pool, a buffer of fixed size, of which one block is kept as a dummy. [tokens]

    ::

        tokens = page * (max(2, floor(buffer / (page * token_bytes))) - 1)

    `buffer`: ``--inference-dynamic-batching-buffer-size-gb`` times a GiB; it does not follow from the memory.
    [B per chip] `block_size`: of a page. [tokens] The cache is kept in the dtype of the parameters: set `kv` to it.

    Leaves out whether the buffer fits beside the weights, which nothing checks: errs high.

    Raises ``ValueError`` for nonsense.
    Source: Megatron-LM, megatron/core/inference/contexts/dynamic_context.py, 2026.
    """
    size, block = positive("buffer", buffer), whole("block_size", block_size)
    pool = pool_from_bytes(d, size, page_size=block, context=context, token_bytes=token_bytes)
    return _filled(d, pool, maximum(2, pool.pages) - 1)


def pool_from_bytes(
    d: Deployment,
    budget: Array,
    *,
    page_size: int = 1,
    context: int | None = None,
    token_bytes: float | None = None,
) -> KvPool:
    """Tokens in a `budget` of bytes, in whole pages. [tokens]

    ::

        tokens = page * max(0, floor(budget / (page * token_bytes)))

    The second half of every engine's sum, and what vLLM's ``--kv-cache-memory-bytes`` gives. `budget` [B per chip]; the
    other arguments are those of `sglang_pool`.

    Exact for pages of that size.

    Raises ``ValueError`` for a page or a context below 1, or chips that the heads do not allow.
    Source: the pages of PagedAttention, arXiv 2309.06180.
    """
    finite("budget", abs(budget) if hasattr(budget, "__abs__") else budget)
    page = whole("page_size", page_size)
    token = chip_token_bytes(d) if token_bytes is None else positive("token_bytes", token_bytes)
    pages = maximum(0, floor(budget / (1.0 * token * page)))
    window = d.model.context_window if context is None else whole("context", context)
    return _filled(d, KvPool(0, 0, 0, 0, budget, token, page, pages, window), pages)


def _filled(d: Deployment, pool: KvPool, pages: Array) -> KvPool:
    """The pool with this many pages, and all that follows from the number."""
    tokens = pages * pool.page_size
    one_chip = tokens * pool.token_bytes
    return pool._replace(
        tokens=tokens,
        bytes=one_chip * d.chips,
        per_chip_bytes=one_chip,
        pages=pages,
        concurrency=pages / ceil(pool.context / pool.page_size),
    )


def _ranks(given: dict[str, Array]) -> list[tuple[Array, ...]]:
    """One tuple of values per rank; a value that is not a list holds for all ranks."""
    sizes = {name: len(value) for name, value in given.items() if isinstance(value, (list, tuple))}
    if len(set(sizes.values())) > 1 or 0 in sizes.values():
        said = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise ValueError(f"{' and '.join(sizes)} must hold one value per rank, as many as each other: {said}.")
    count = next(iter(sizes.values()), 1)
    rows = [[value[i] if name in sizes else value for name, value in given.items()] for i in range(count)]
    return [tuple(finite(name, value) for name, value in zip(given, row, strict=True)) for row in rows]


def _around_loading(
    d: Deployment, pick: Callable[..., Array], before: Array, after: Array, weights: Array
) -> tuple[Array, Array]:
    """Free memory before and after loading, of the rank that counts."""
    record("d", d, Deployment)
    if after is not None and weights is not None:
        raise ValueError("free_after_load and weights must not both be given: one follows from the other.")
    rows = _ranks({"free_before_load": d.chip.device_memory if before is None else before})
    before = pick(positive("free_before_load", free) for (free,) in rows)
    if after is None:
        loaded = loaded_weight_bytes(d) if weights is None else weights
        return before, pick(before - size for (size,) in _ranks({"weights": loaded}))
    after = pick(free for (free,) in _ranks({"free_after_load": after}))
    risen = after > before
    if risen.any() if hasattr(risen, "any") else risen:
        raise ValueError(f"free_after_load must be at most free_before_load, {shown(before)}, not {shown(after)}.")
    return before, after
