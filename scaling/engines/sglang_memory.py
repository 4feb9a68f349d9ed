"""What SGLang makes of the memory of a GPU: its share for weights and cache, its chunk, its graphs, its pool."""

from math import inf

from scaling._array import Array
from scaling._checks import positive, record, shown, whole
from scaling.deployment import Deployment
from scaling.engines.pool import KvPool, free_memory, sglang_pool as kv_pool, weights_on_chip
from scaling.units import GiB, MiB

METADATA = 512 * MiB  # that it counts for attention backends and slack, whatever else: memory_hook.py line 309
# SGLang's own choices by the memory of a GPU below which they hold [MiB]: tokens of a prefill chunk, largest decode
# batch that is recorded in a graph below 4 ways, and from 4 ways on.
_BY_MEMORY = (
    (20_480, 2048, 8, 8),
    (35_840, 4096, 48, 160),
    (61_440, 4096, 32, 160),
    (163_840, 8192, 256, 512),
    (inf, 16_384, 512, 512),
)
# Token counts of a prefill that are recorded in a graph, up to the chunk, and then every 512.
_PREFILL_GRAPHS = (
    *(*range(4, 33, 4), *range(48, 257, 16), *range(288, 513, 32)),
    *(*range(576, 1025, 64), *range(1280, 4097, 256)),
)
# More than the weights goes when a model is loaded: five start-up logs show 0.06 to 0.21 GiB on one GPU, and 0.28 with
# four ways of tensor parallelism, which is the only such log.
_BUFFERS = {False: 0.135 * GiB, True: 0.28 * GiB}


def default_chunk(d: Deployment) -> int:
    """Tokens of one prefill chunk if nobody says otherwise: SGLang goes by the memory that the GPU reports. [tokens]

    Source: SGLang 0.5.23, the default of ``--chunked-prefill-size``.
    """
    return next(chunk for below, chunk, _, _ in _BY_MEMORY if d.chip.device_memory / MiB < below)


def default_mem_fraction(
    d: Deployment,
    *,
    chunked_prefill: float | None = None,
    max_running: int | None = None,
    role: str | None = None,
    stages: int = 1,
) -> float:
    """SGLang's own choice of ``--mem-fraction-static``, as an estimate. [-]

    What it keeps back, in MiB: ``512 + 1.5 max(tokens, 2048) + 128 N + 2 graph batch + 8 graphs``, at least 10240 above
    60 GiB. The constants move between releases, and other features keep back more: pass the fraction where it is known.

    `chunked_prefill`: of one prefill chunk; in place of it a decode server counts its running requests. [tokens]
    `max_running`: the cap, if one is set: no larger decode batch is then recorded in a graph. [sequences]
    `role`: "prefill" records no decode steps, "decode" no prefills.
    `stages`: of a pipeline, N counting the chips of all of them; with more than one no prefill is recorded.

    Raises ``ValueError`` for a number that is not above 0, or another role.
    Source: SGLang 0.5.23, srt/arg_groups/memory_hook.py, lines 62 to 388.
    """
    if role not in (None, "prefill", "decode"):
        raise ValueError(f"role must be prefill or decode, not {shown(role)}.")
    N, memory = whole("chips", d.chips), d.chip.device_memory / MiB
    chunk = default_chunk(d) if chunked_prefill is None else positive("chunked_prefill", chunked_prefill)
    batch = recorded_batch(d)
    running = batch if max_running is None else whole("max_running", max_running)
    recorded = min(batch, running)
    tokens = (recorded if max_running is None else running) if role == "decode" else chunk
    graphs = 0 if role == "decode" or stages > 1 else _prefill_graphs(chunk)
    reserve = 512 + 1.5 * max(tokens, 2048) + 128 * N * stages + 8 * graphs
    reserve += 0 if role == "prefill" else 2 * recorded
    if memory > 60 * 1024:
        reserve = max(reserve, 10_240)
    return max(0.0, round((memory - reserve) / memory, 3))


def recorded_batch(d: Deployment) -> int:
    """Largest decode batch that is recorded in a graph if nobody says otherwise. [sequences]"""
    _, _, few, many = next(row for row in _BY_MEMORY if d.chip.device_memory / MiB < row[0])
    return few if d.chips < 4 else many


def _prefill_graphs(chunk: float) -> float:
    return float(sum(tokens <= chunk for tokens in _PREFILL_GRAPHS) + max(0.0, (chunk - 4096) // 512))


def expected_pool(
    d: Deployment,
    *,
    mem_fraction_static: Array = None,
    chunked_prefill: int | None = None,
    max_running: int | None = None,
    role: str | None = None,
    stages: int = 1,
) -> KvPool:
    """The pool that SGLang will make, before a log tells: `kv_pool` with an estimate of what a log would state.

    `mem_fraction_static`: share of the free memory for weights and pool; SGLang's own choice if not given. [-]
    `chunked_prefill`, `max_running`, `role`, `stages`: what that choice depends on, see `default_mem_fraction`.

    Raises ``ValueError`` for nonsense; a pool without room is a value with a negative `budget`.
    """
    record("d", d, Deployment)
    own = default_mem_fraction(d, chunked_prefill=chunked_prefill, max_running=max_running, role=role, stages=stages)
    return kv_pool(
        d,
        free_before_load=free_memory(d),
        mem_fraction_static=own if mem_fraction_static is None else mem_fraction_static,
        weights=weights_on_chip(d) + _BUFFERS[d.chips > 1],
    )
