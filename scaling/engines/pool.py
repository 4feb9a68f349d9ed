"""What one chip holds when an engine has loaded a model, and how many tokens the KV pool gets of the rest.

The engines start from different numbers. SGLang's fraction is of the memory that was free before loading, and covers
weights and pool; vLLM's is of the whole memory, and covers everything. Bytes in, bytes out; the "GB" that both print is
a GiB (`scaling.units.GiB`). `d.chips` are the tensor-parallel ways of one replica.

Where the engine works rank by rank, a list or a tuple holds one value per rank. NumPy arrays broadcast.
"""

from collections.abc import Callable
from math import nan
from typing import NamedTuple

from scaling._array import Array, ceil, floor, maximum
from scaling._checks import finite, positive, shown, whole
from scaling.deployment import Deployment
from scaling.memory import weight_bytes
from scaling.models import Model
from scaling.units import GiB


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
    wide = (m.params - m.attention_params - m.mlp_params) * max(0.0, 2.0 - b_w)
    copied = 2 * m.layers * m.d_model * m.kv_heads * m.head_dim * b_w * (max(1.0, N / m.kv_heads) - 1.0)
    return (weight_bytes(d) + wide + copied) / N


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
    return filled(d, KvPool(0, 0, 0, 0, budget, token, page, pages, window), pages)


def filled(d: Deployment, pool: KvPool, pages: Array) -> KvPool:
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


def ranks(given: dict[str, Array]) -> list[tuple[Array, ...]]:
    """One tuple of values per rank; a value that is not a list holds for all ranks."""
    sizes = {name: len(value) for name, value in given.items() if isinstance(value, (list, tuple))}
    if len(set(sizes.values())) > 1 or 0 in sizes.values():
        said = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise ValueError(f"{' and '.join(sizes)} must hold one value per rank, as many as each other: {said}.")
    count = next(iter(sizes.values()), 1)
    rows = [[value[i] if name in sizes else value for name, value in given.items()] for i in range(count)]
    return [tuple(finite(name, value) for name, value in zip(given, row, strict=True)) for row in rows]


def around_loading(
    d: Deployment, pick: Callable[..., Array], before: Array, after: Array, weights: Array
) -> tuple[Array, Array]:
    """Free memory before and after loading, of the rank that counts."""
    if after is not None and weights is not None:
        raise ValueError("free_after_load and weights must not both be given: one follows from the other.")
    rows = ranks({"free_before_load": d.chip.device_memory if before is None else before})
    before = pick(positive("free_before_load", free) for (free,) in rows)
    if after is None:
        loaded = loaded_weight_bytes(d) if weights is None else weights
        return before, pick(before - size for (size,) in ranks({"weights": loaded}))
    after = pick(free for (free,) in ranks({"free_after_load": after}))
    risen = after > before
    if risen.any() if hasattr(risen, "any") else risen:
        raise ValueError(f"free_after_load must be at most free_before_load, {shown(before)}, not {shown(after)}.")
    return before, after
