"""Questions and exercise of chapter 10, the worked problems. Every key and every trap is computed."""

from dataclasses import replace
from math import ceil

from scaling import (
    H100_TEXT,
    LLAMA3_8B,
    LLAMA3_70B,
    LLAMA3_405B,
    TPU_V5E_TEXT,
    Deployment,
    best_batch,
    cache_bytes,
    decode_step,
    max_batch,
    min_chips,
    queries_per_second,
    weight_bytes,
)
from scaling.course.exercise import Exercise
from scaling.course.questions import Multiple, Numeric, Option, Ordering, Question, Single, Trap, WrongOrder
from scaling.memory import activation_bytes
from scaling.roofline import attention_flops, critical_batch
from scaling.sharding import hop_time, slice_hops
from scaling.throughput import batch_at_step, largest_batch, prefill_chips, replicas_for
from scaling.units import GB, GFLOP, GiB, ms, number

# The deployments of the four problems, with the constants of the text: int8 weights and cache, bf16 arithmetic.
INT8 = Deployment(model=LLAMA3_405B, chip=TPU_V5E_TEXT, weights="int8", kv="int8", params="nominal")
SMALL = replace(INT8, model=LLAMA3_8B)
POD = replace(INT8, chips=64)
NODE = replace(INT8, model=LLAMA3_70B, chip=H100_TEXT, chips=8)
SLICE = replace(NODE, chip=TPU_V5E_TEXT, chips=16)

CONTEXT, LIMIT = 8192, 15 * ms
BATCH = 240  # of problem 2
QUERIES, ANSWER, MFU = 1000, 512, 0.4  # of problem 4; the last two are assumptions


def _ms(seconds: float) -> str:
    return f"{number(seconds / ms)} ms"


def _gb(size: float) -> str:
    return f"{number(size / GB)} GB"


def _endless(d: Deployment) -> Deployment:
    """The same with arithmetic that takes no time."""
    return replace(d, chip=replace(d.chip, flops={"bf16": 1e30}))


# --- problem 1: arithmetic and reading -------------------------------------------------------------------------------

_one = decode_step(INT8, 1, 0)
_flops = _one.compute * INT8.flops

FLOPS = Numeric(
    id="10-q1-flops",
    prompt=(
        "Problem 1 (a). LLaMA 3-405B, taken as 405e9 parameters. How many FLOP does one token need in one forward pass? "
        "Matrices only."
    ),
    answer=_flops,
    unit="FLOP",
    right="Two FLOP for each parameter: one multiplication, one addition. The dtype of the weights plays no part.",
    traps=(
        Trap(
            value=_flops / 2,
            feedback="That is one FLOP for each parameter. A weight is multiplied and the product is added: that makes two.",
        ),
        Trap(
            value=3 * _flops,
            feedback="Six FLOP for each parameter is training: forward, and twice as much backward. Serving goes forward only.",
        ),
        Trap(
            value=_flops + attention_flops(LLAMA3_405B, CONTEXT),
            feedback=(
                f"You added attention's own FLOPs at {CONTEXT:,} tokens. They are real, but they depend on the context, "
                "and the question gives none."
            ),
        ),
        Trap(
            value=_flops / LLAMA3_405B.layers,
            feedback="That is one layer. The count of parameters is that of the whole model.",
        ),
    ),
    hints=(
        "How often is each parameter used for one token, and for what?",
        "2 P FLOP for each token.",
        "2 x 405e9 FLOP.",
    ),
    solution=f"2 x 405e9 = {number(_flops)} FLOP, or {number(_flops / GFLOP)} GFLOP.",
)

_h100 = decode_step(replace(INT8, chip=H100_TEXT), 1, 0)

COMPUTE = Numeric(
    id="10-q1-compute",
    prompt=(
        "Problem 1 (b). Suppose that arithmetic is all there is. On N chips of v5e (197 TFLOP/s in bf16) a step of one "
        "sequence takes at least x / N. What is x?"
    ),
    answer=_one.compute,
    unit="ms",
    right="Milliseconds, for a model of 405 billion parameters on one small chip. Arithmetic is not what one sequence waits for.",
    traps=(
        Trap(
            value=_one.compute / 2,
            feedback="Half of it: either the second FLOP of each parameter is missing, or you took the int8 rate, 394 TFLOP/s.",
        ),
        Trap(
            value=_one.weights,
            feedback="That is reading the weights, which is part (c). Here only the FLOPs count.",
        ),
        Trap(
            value=_one.compute / ms,
            feedback="A thousand times too long: the quotient comes out in seconds, and it is 0.004 of them.",
        ),
        Trap(
            value=_h100.compute,
            feedback="You divided by the rate of an H100. The question is about v5e.",
        ),
        Trap(
            value=_one.compute / POD.chips,
            feedback="That is the time on 64 chips. The number of chips stays open here: give the numerator.",
        ),
    ),
    hints=(
        "FLOP needed, over FLOP/s of N chips.",
        "T_compute = 2 B P / (N C), with B = 1.",
        "8.1e11 FLOP over 197e12 FLOP/s, and then over N.",
    ),
    solution=f"8.1e11 / 197e12 = {number(_one.compute)} s, so at least {_ms(_one.compute)} / N.",
)

FLOOR = Numeric(
    id="10-q1-floor",
    prompt=(
        "Problem 1 (c). Now suppose that reading memory is all there is: int8 weights, 810 GB/s a chip, one sequence. "
        "The step takes at least y / N. What is y?"
    ),
    answer=_one.weights,
    unit="s",
    right=(
        f"Half a second over N: {number(_one.weights / _one.compute)} times the arithmetic. That ratio is the critical batch "
        "of v5e with int8 weights, and no accident."
    ),
    traps=(
        Trap(
            value=decode_step(replace(INT8, weights="bf16"), 1, 0).weights,
            feedback="That is two bytes for each weight. In int8 it is one.",
        ),
        Trap(
            value=_one.compute,
            feedback="That is the arithmetic of part (b). Reading takes far longer.",
        ),
        Trap(value=_h100.weights, feedback="You divided by the bandwidth of an H100. The question is about v5e."),
        Trap(
            value=decode_step(replace(INT8, weights="int4"), 1, 0).weights,
            feedback="That is half a byte for each weight, int4. In int8 it is one.",
        ),
        Trap(
            value=_one.weights / 8,
            feedback="You took 8 bits off 405 GB once more. An int8 weight is one byte already, and bandwidth is in bytes.",
        ),
        Trap(
            value=_one.weights / POD.chips,
            feedback="That is the time on 64 chips, which problem 3 needs. Here the number of chips stays open.",
        ),
    ),
    hints=(
        "Bytes of the weights, over bytes per second of N chips.",
        "T_weights = P b_w / (N W).",
        "405e9 bytes over 810e9 B/s, and then over N.",
    ),
    solution=f"405e9 B / 810e9 B/s = {number(_one.weights)} s, so at least {number(_one.weights)} s / N at any batch up to the critical one.",
)

# --- problem 2: memory -----------------------------------------------------------------------------------------------

_work = activation_bytes(LLAMA3_8B, BATCH)
_weights, _cache = weight_bytes(SMALL), cache_bytes(SMALL, BATCH, CONTEXT)
_total = _weights + _cache + _work.logits
_sizes = {
    "the residual stream, bf16": _work.residual,
    "gate and up outputs of one layer's MLP, bf16": _work.mlp,
    "the logits, fp32": _work.logits,
    "the weights, int8": _weights,
    "the KV cache, int8": _cache,
}
_RESIDUAL, _MLP, _LOGITS, _WEIGHTS, _CACHE = _ORDER = tuple(sorted(_sizes, key=_sizes.__getitem__))
_SMALL = f"LLaMA 3-8B, int8 weights and cache, {BATCH} sequences of {CONTEXT:,} tokens."

ORDER = Ordering(
    id="10-q2-order",
    prompt=f"Problem 2 (a) to (c). {_SMALL} What takes how much memory in a decode step? From least to most.",
    items=_ORDER,
    right=(
        f"From {number(_work.residual / 1e6)} MB to {_gb(_cache)}. Among the activations the logits are the largest, "
        f"since the vocabulary is {LLAMA3_8B.vocab:,} wide. All of them together are a thousandth of the cache."
    ),
    other="Write down each size: tokens in flight x width x bytes, or parameters x bytes, or cached tokens x bytes of a token.",
    traps=(
        WrongOrder(
            order=(_RESIDUAL, _MLP, _LOGITS, _CACHE, _WEIGHTS),
            feedback=(
                f"With one short sequence, yes. Here {BATCH * CONTEXT:,} tokens are cached, "
                f"{number(SMALL.kv_per_token)} B each: {number(_cache / _weights)} times the weights."
            ),
        ),
        WrongOrder(
            order=(_RESIDUAL, _LOGITS, _MLP, _WEIGHTS, _CACHE),
            feedback=(
                f"The vocabulary is {number(LLAMA3_8B.vocab / LLAMA3_8B.d_ff)} times as wide as the MLP, and logits are often "
                "kept in four bytes."
            ),
        ),
        WrongOrder(
            order=(_RESIDUAL, _LOGITS, _WEIGHTS, _MLP, _CACHE),
            feedback=(
                f"A decode step has only {BATCH} tokens in flight, one per sequence, and one layer alive at a time: "
                "activations are megabytes. Training is where they grow large."
            ),
        ),
        WrongOrder(order=_ORDER[::-1], feedback="The order is right but runs backwards: least comes first."),
    ),
    hints=(
        f"Only {BATCH} tokens are in flight in a decode step. How many are cached?",
        "Logits 4 B V, cache B S kv, gate and up 2 b B F, weights P b_w, stream b B D.",
        f"The stream has {BATCH} x 4,096 numbers of 2 bytes, the cache {BATCH} x {CONTEXT:,} tokens of 65,536 bytes.",
    ),
    solution="; ".join(
        f"{name}: {number(size / 1e6)} MB" if size < GB else f"{name}: {_gb(size)}"
        for name, size in sorted(_sizes.items(), key=lambda item: item[1])
    )
    + ".",
)

TOTAL = Numeric(
    id="10-q2-total",
    prompt=f"Problem 2, the sum. {_SMALL} Weights (8e9), cache and fp32 logits together: how many GB?",
    answer=_total,
    unit="GB",
    right=f"{_gb(_cache)} of it are cache. The weights, which name the model, are {number(100 * _weights / _total, 2)} %.",
    traps=(
        Trap(
            value=_weights + _cache / 2 + _work.logits,
            feedback="The cache came out half: it holds a key and a value for each head and layer.",
        ),
        Trap(
            value=_weights + _cache * LLAMA3_8B.q_heads / LLAMA3_8B.kv_heads + _work.logits,
            feedback=f"You counted {LLAMA3_8B.q_heads} query heads. Groups of four share one of the {LLAMA3_8B.kv_heads} KV heads.",
        ),
        Trap(
            value=_weights + cache_bytes(replace(SMALL, kv="bf16"), BATCH, CONTEXT) + _work.logits,
            feedback="That is a cache in bf16. Here it is int8, one byte a number.",
        ),
        Trap(
            value=_cache,
            feedback=(
                f"Either the weights are missing, or this is GiB under the name of GB: {_gb(_total)} are "
                f"{number(_total / GiB)} GiB."
            ),
        ),
        Trap(
            value=2 * _weights + _cache + _work.logits,
            feedback="You took two bytes for each weight. In int8 it is one.",
        ),
        Trap(
            value=_weights + cache_bytes(SMALL, 1, CONTEXT) + _work.logits,
            feedback=f"That is the cache of one sequence. There are {BATCH}.",
        ),
    ),
    hints=(
        "Three sizes, of which one is by far the largest.",
        "P b_w + B S kv + 4 B V, with kv = 2 L K H b_kv.",
        f"8e9 B, then {BATCH} x {CONTEXT:,} x (2 x 32 x 8 x 128) B, then {BATCH} x 128,256 x 4 B.",
    ),
    solution=f"{_gb(_weights)} + {_gb(_cache)} + {number(_work.logits / GB)} GB = {_gb(_total)}.",
)

_decimal = min_chips(SMALL, BATCH, CONTEXT)
_binary = min_chips(replace(SMALL, chip=replace(TPU_V5E_TEXT, memory=16 * GiB)), BATCH, CONTEXT)
_chips = _total / TPU_V5E_TEXT.memory

TOPOLOGY = Single(
    id="10-q2-slice",
    prompt=f"Problem 2 (d). {_gb(_total)} in all, v5e chips of 16 GB. What is the smallest slice to order?",
    options=(
        Option(
            text="4x2, eight chips: the sum is 7.97 chips",
            correct=_decimal == 8,
            feedback=(
                f"That reads 16 GB as 16 GiB. Then the slice would be 4x2 ({_binary} chips) with "
                f"{number(100 * (1 - _total / (8 * 16 * GiB)), 2)} % to spare, less than the runtime alone takes. In decimal GB it is "
                f"{number(_chips)} chips."
            ),
        ),
        Option(
            text="3x3, nine chips",
            correct=_decimal == 9,
            feedback=f"Nine chips hold it, since the quotient is {number(_chips)}. But no slice of nine is sold.",
        ),
        Option(
            text="4x4, sixteen chips",
            correct=_decimal == 16,
            feedback=f"{number(_chips)} chips are more than eight, and the next slice on offer has sixteen.",
        ),
        Option(
            text="3x4, twelve chips",
            correct=_decimal == 12,
            feedback="Twelve would leave a comfortable reserve, but v5e comes in slices of 1, 4, 8, 16, 32 ... chips.",
        ),
    ),
    hints=(
        "Divide, then ask which slices exist.",
        "Chips = bytes / 16e9, rounded up to a slice.",
        f"{_gb(_total)} / 16 GB is a little more than eight.",
    ),
    solution=f"{_gb(_total)} / 16 GB = {number(_chips)} chips. The slices are 1, 4, 8, 16 ...: sixteen, a 4x4.",
)

# --- problem 3: a limit of 15 ms -------------------------------------------------------------------------------------

_floor32 = decode_step(replace(INT8, chips=32), 1, 0).total
_holds = min_chips(INT8, 0, 0)

WHY_NOT_32 = Single(
    id="10-q3-why-not-32",
    prompt="Problem 3 (a). LLaMA 3-405B on v5e, int8 weights, bf16 arithmetic, 15 ms a token at most. Why not 32 chips?",
    options=(
        Option(
            text="The weights do not fit on them",
            correct=_holds > 32,
            feedback=f"{_gb(weight_bytes(INT8))} of weights on {_gb(32 * TPU_V5E_TEXT.memory)}: they fit, and {_holds} is the smallest slice that holds them.",
        ),
        Option(
            text="The arithmetic of one sequence takes too long",
            correct=decode_step(replace(INT8, chips=32), 1, 0).compute > LIMIT,
            feedback=f"One sequence takes {_ms(decode_step(replace(INT8, chips=32), 1, 0).compute)} of arithmetic on 32 chips. That is not the trouble.",
        ),
        Option(
            text="There is no room for a cache",
            correct=max_batch(replace(INT8, chips=32), CONTEXT) == 0,
            feedback=f"{max_batch(replace(INT8, chips=32), CONTEXT)} sequences of {CONTEXT:,} tokens fit beside the weights. Memory is not the trouble.",
        ),
        Option(
            text="A single sequence is too slow already",
            correct=_floor32 > LIMIT,
            feedback=(
                f"Reading the weights takes {_ms(_floor32)}, before any cache. No batch is smaller than one, so no batch helps: "
                "64 chips is the smallest slice to consider."
            ),
        ),
    ),
    hints=(
        "Three things can rule out a slice: memory, reading and arithmetic.",
        "T_weights = P b_w / (N W), at batch 1.",
        "0.5 s / 32.",
    ),
    solution=f"0.5 s / 32 = {_ms(_floor32)}, more than 15 ms. With 64 chips it is {_ms(decode_step(POD, 1, 0).total)}.",
)

_best = largest_batch(POD, CONTEXT, max_step=LIMIT)
_at_best = decode_step(POD, _best, CONTEXT)

LARGEST = Numeric(
    id="10-q3-batch",
    prompt=(
        f"Problem 3 (b). 64 chips, contexts of {CONTEXT:,} tokens, int8 cache, no time for the links. What is the largest "
        "batch whose step keeps to 15 ms?"
    ),
    answer=float(_best),
    unit="sequences",
    rtol=0,
    right=(
        f"The step takes {_ms(_at_best.total)}. Arithmetic is its longer part, so this is the plateau: "
        f"{best_batch(POD, CONTEXT, max_step=LIMIT)} sequences would give the same tokens per second, sooner."
    ),
    traps=(
        Trap(
            value=_best + 1.0,
            feedback=f"You rounded up, and broke the limit: {_best + 1} sequences take {_ms(decode_step(POD, _best + 1, CONTEXT).total)}.",
        ),
        Trap(
            value=batch_at_step(POD, CONTEXT, LIMIT),
            feedback="You did not round. A part of a sequence is not served, and only rounding down keeps the limit.",
        ),
        Trap(
            value=float(largest_batch(_endless(POD), CONTEXT, max_step=LIMIT)),
            feedback="You counted the reading of weights and cache only. At this batch arithmetic takes longer than the weights.",
        ),
        Trap(
            value=float(max_batch(POD, CONTEXT)),
            feedback=f"So many fit. Their step would take {_ms(decode_step(POD, max_batch(POD, CONTEXT), CONTEXT).total)}.",
        ),
        Trap(
            value=batch_at_step(POD, 0, LIMIT),
            feedback=f"You left out the cache. At batch {_best} reading it takes {_ms(_at_best.cache)} of the 15 ms.",
        ),
        Trap(
            value=float(best_batch(POD, CONTEXT, max_step=LIMIT)),
            feedback=(
                "That is the critical batch: the smallest with full throughput, and a good choice. The question asks for "
                "the largest that the limit allows."
            ),
        ),
        Trap(
            value=float(largest_batch(replace(POD, kv="bf16"), CONTEXT, max_step=LIMIT)),
            feedback="That is a cache in bf16. Here it is int8.",
        ),
    ),
    hints=(
        "Two limits: reading weights and cache, and cache plus arithmetic. Memory is a third.",
        "15 ms = B t_cache + max(T_weights, B t_compute). Solve both cases and take the smaller B.",
        f"Per sequence: t_cache = {CONTEXT:,} x 258,048 B / (64 x 810e9 B/s), t_compute = 2 x 405e9 / (64 x 197e12).",
    ),
    solution=(
        f"t_cache = {number(decode_step(POD, 1, CONTEXT).cache * 1e6)} us, t_compute = "
        f"{number(decode_step(POD, 1, CONTEXT).compute * 1e6)} us. 15 ms over their sum is "
        f"{number(batch_at_step(POD, CONTEXT, LIMIT))}, so {_best} sequences; the other case allows "
        f"{largest_batch(_endless(POD), CONTEXT, max_step=LIMIT)}, memory {max_batch(POD, CONTEXT)}."
    ),
)

_TORUS = slice_hops((16, 16), wrap=True)
_read256 = decode_step(replace(INT8, chips=256), 1, 0).total
_travel = hop_time(LLAMA3_405B, _TORUS)

MINIMUM = Numeric(
    id="10-q3-minimum",
    prompt=(
        "Problem 3 (c). The largest v5e torus is 16x16, and 0.5 s / 256 is 1.953 ms. Now let each of the four collectives of "
        "each of the 126 layers cross it, 8 + 8 hops of 1 us, and nothing overlap. How long is the shortest step?"
    ),
    answer=_read256 + _travel,
    unit="ms",
    right=(
        f"{_ms(_travel)} of it are travel, which no number of chips shortens. Half a second over N promises a fifth of the truth."
    ),
    traps=(
        Trap(value=_read256, feedback="That is reading only. The signals have not travelled yet."),
        Trap(value=_travel, feedback="That is travel only. The weights have to be read too."),
        Trap(
            value=_read256 + _travel / 4,
            feedback="You let one collective cross per layer. Attention and MLP each gather and scatter: four.",
        ),
        Trap(
            value=_read256 + _travel / 2,
            feedback="You let two collectives cross per layer, or only half the hops. There are four, and 16 hops for each.",
        ),
        Trap(
            value=_read256 + hop_time(LLAMA3_405B, slice_hops((16, 16))),
            feedback="That is 15 + 15 hops, as without the links that close the axes to rings. On a torus half way round is far enough.",
        ),
        Trap(
            value=decode_step(POD, 1, 0).total + hop_time(LLAMA3_405B, slice_hops((8, 8))),
            feedback="That is the 8x8 slice of part (b), with 7 + 7 hops. Here it is 16x16.",
        ),
    ),
    hints=(
        "Two times that follow one another: reading, and travel.",
        "P b_w / (N W) + 4 L hops t_hop.",
        "1.953 ms + 4 x 126 x 16 x 1 us.",
    ),
    solution=f"4 x 126 x 16 x 1 us = {_ms(_travel)}; with {_ms(_read256)} of reading the step takes {_ms(_read256 + _travel)}.",
)

# --- problem 4: a thousand queries a second --------------------------------------------------------------------------


def decode_fleet(
    d: Deployment, *, context: float = CONTEXT, answer: float = ANSWER, max_step: float = float("inf")
) -> int:
    """Chips that decode the thousand queries, in whole servers at their largest batch."""
    B = largest_batch(d, context, max_step=max_step)
    return int(d.chips * replicas_for(d, QUERIES, B, context, answer))


def prefill_fleet(d: Deployment, tokens: float = CONTEXT) -> int:
    """Chips that read the thousand prompts."""
    return int(prefill_chips(d, QUERIES, tokens, mfu=MFU))


_gpus, _tpus = decode_fleet(NODE), decode_fleet(SLICE)
_gpu_prefill, _tpu_prefill = prefill_fleet(NODE), prefill_fleet(SLICE)
_full, _full_tpu = max_batch(NODE, CONTEXT), max_batch(SLICE, CONTEXT)
_each = queries_per_second(NODE, _full, CONTEXT, ANSWER)
_each_tpu = queries_per_second(SLICE, _full_tpu, CONTEXT, ANSWER)
_no_cache = int(NODE.chips * replicas_for(NODE, QUERIES, _full, 0, ANSWER))
_FLEET = (
    f"LLaMA 3-70B, int8 weights and cache, {CONTEXT:,} tokens of context, {QUERIES:,} queries/s; answers of {ANSWER} tokens "
    "on average."
)


def _fleet(*, queries: float, batch: int, step_ms: float, answer: int, chips: int) -> int:
    """Chips for so many queries per second, of servers whose step is given: a deployment with just that step."""
    chip = replace(H100_TEXT, flops={"bf16": 1e30}, bandwidth=8e9 / (chips * step_ms * ms))
    d = replace(SMALL, chip=chip, chips=chips)  # reads its 8e9 bytes of weights in exactly that time
    return int(chips * replicas_for(d, queries, batch, 0, answer))


def _exactly(*, queries: float, batch: int, step_ms: float, answer: int, chips: int) -> float:
    return chips * queries * step_ms * ms * answer / batch


CHIPS = Exercise(
    _fleet,
    cases=tuple(
        {"queries": queries, "batch": batch, "step_ms": step_ms, "answer": answer, "chips": chips}
        for queries, batch, step_ms, answer, chips in (
            (1000, 424, 28.73, 512, 8),
            (29, 43, 19.71, 700, 4),  # 9.3 servers, which round() takes down
            (8, 64, 125, 512, 16),  # exactly 8 servers, in numbers that floats hold exactly
        )
    ),
    mistakes={
        "you did not round: servers come whole. Round up the servers, and multiply by their chips after that.": _exactly,
        "you rounded up the chips. Servers come whole: round them up first.": lambda **a: ceil(_exactly(**a)),
        "you rounded down. The last server is needed too.": lambda **a: a["chips"] * int(_exactly(**a) / a["chips"]),
        "you rounded to the nearest. Where that is down, the last server is missing: round up.": lambda **a: (
            a["chips"] * round(_exactly(**a) / a["chips"])
        ),
        "int(...) + 1 is one server too many where the quotient is whole: round up with ceil.": lambda **a: (
            a["chips"] * (int(_exactly(**a) / a["chips"]) + 1)
        ),
        "those are servers. Multiply by the chips of one.": lambda **a: _fleet(**a) // a["chips"],
        "the answer's length is missing. A query stays for that many steps.": lambda **a: _fleet(**{**a, "answer": 1}),
        "you took milliseconds for seconds.": lambda **a: _fleet(**{**a, "step_ms": 1000 * a["step_ms"]}),
        "the batch is missing. A server works on all its sequences at once.": lambda **a: _fleet(**{**a, "batch": 1}),
    },
)


def _server(d: Deployment, batch: int) -> dict[str, float]:
    """The problem in the exercise's terms."""
    step = decode_step(d, batch, CONTEXT).total / ms
    return {"queries": QUERIES, "batch": batch, "step_ms": step, "answer": ANSWER, "chips": d.chips}


GPUS = Numeric(
    id="10-q4-h100",
    prompt=f"Problem 4 (a). {_FLEET} Decode only, nodes of 8 H100 with full memory ({_full} sequences each). How many H100?",
    answer=float(_gpus),
    unit="GPUs",
    rtol=0,
    right=(
        f"{_gpus // 8} nodes. Four cards to a server would give the same total: both are on the plateau. And nobody has read "
        "a prompt yet."
    ),
    traps=CHIPS.traps(
        {
            "you took a step that only reads the full memory. With so many sequences arithmetic takes longer than reading "
            "the weights, and the step is a fifth longer.": decode_fleet(_endless(NODE)),
            "you left out the cache. On the plateau most of a token's time goes into reading it.": _no_cache,
            "that is queries x tokens over C / 2P, arithmetic alone. Every token has a cache to read as well.": (
                NODE.chips * QUERIES / queries_per_second(NODE, _full, 0, ANSWER)
            ),
            "that counts the prefill of every prompt. It is the better answer to a real order; this part asks for decode.": (
                _gpus + _gpu_prefill
            ),
            "that is with two cards to a server: there only 67 sequences fit, short of the critical batch.": decode_fleet(
                replace(NODE, chips=2)
            ),
            "that is a cache in bf16, which is what engines use unless told otherwise. Here it is int8.": decode_fleet(
                replace(NODE, kv="bf16")
            ),
        },
        rtol=0,
        **_server(NODE, _full),
    ),
    hints=(
        "Queries that one node finishes in a second; then how many nodes.",
        "QPS of a node = B / (T_step G); nodes = queries / QPS, rounded up.",
        f"T_step at batch {_full} is {_ms(decode_step(NODE, _full, CONTEXT).total)}, and a query stays {ANSWER} steps.",
    ),
    solution=(
        f"{_full} / ({_ms(decode_step(NODE, _full, CONTEXT).total)} x {ANSWER}) = {number(_each)} queries/s a node. {QUERIES:,} / "
        f"{number(_each)} = {number(QUERIES / _each)}, so {_gpus // 8} nodes, {_gpus} H100."
    ),
)

# The English book's rate for this slice, from its table of doubled slices.
_by_text = 16 * ceil(QUERIES / (0.90 * SLICE.chips))

TPUS = Numeric(
    id="10-q4-v5e",
    prompt=f"Problem 4 (b). The same on 4x4 slices of v5e with full memory ({_full_tpu} sequences each), decode only. How many chips?",
    answer=float(_tpus),
    unit="chips",
    rtol=0,
    right=f"{_tpus // 16} slices: {number(_tpus / _gpus)} chips for each H100. What they cost is another question.",
    traps=CHIPS.traps(
        {
            "that is with 0.90 queries/s per chip, from a table of doubled slices (chapter 4). Its step of 19 ms is "
            f"too short: at batch {_full_tpu} it is {_ms(decode_step(SLICE, _full_tpu, CONTEXT).total)}.": _by_text,
            "that is with 4x2 slices. They hold the weights, but only 43 sequences share the reading of them.": decode_fleet(
                replace(SLICE, chips=8)
            ),
            "that counts the prefill of every prompt. It comes next; this part asks for decode.": _tpus + _tpu_prefill,
            "that is half: you took eight chips for a slice. A 4x4 slice has sixteen.": _tpus // 2,
            "that is a cache in bf16. Here it is int8.": decode_fleet(replace(SLICE, kv="bf16")),
            "you left out the cache, which is more than half of the step.": int(
                SLICE.chips * replicas_for(SLICE, QUERIES, _full_tpu, 0, ANSWER)
            ),
        },
        rtol=0,
        **_server(SLICE, _full_tpu),
    ),
    hints=(
        "The same three steps as for H100, with the step of this slice.",
        "QPS of a slice = B / (T_step G); slices = queries / QPS, rounded up.",
        f"T_step at batch {_full_tpu} is {_ms(decode_step(SLICE, _full_tpu, CONTEXT).total)}, and a query stays {ANSWER} steps.",
    ),
    solution=(
        f"{_full_tpu} / ({_ms(decode_step(SLICE, _full_tpu, CONTEXT).total)} x {ANSWER}) = {number(_each_tpu)} queries/s a slice. "
        f"{QUERIES:,} / {number(_each_tpu)} = {number(QUERIES / _each_tpu)}, so {_tpus // 16} slices, {_tpus} chips."
    ),
)

_fleets = {
    "H100, decode": _gpus,
    "v5e, decode": _tpus,
    "H100, prefill": _gpu_prefill,
    "v5e, prefill": _tpu_prefill,
}
_GD, _TD, _GP, _TP = _BY_SIZE = tuple(sorted(_fleets, key=_fleets.__getitem__))

FLEETS = Ordering(
    id="10-q4-order",
    prompt=(
        f"Prompts of {CONTEXT:,} tokens, answers of {ANSWER}, {QUERIES:,} queries/s. Prefill runs at 40 % MFU in bf16. "
        "Which job is work for how many chips? From fewest to most."
    ),
    items=_BY_SIZE,
    right="In bf16 at 40 % MFU, reading the prompts takes ten to twelve times the chips of writing the answers. The usual answer to problem 4 is the small part.",
    other=f"Count tokens: {CONTEXT // ANSWER} prompt tokens for each one generated, at 2 P FLOP each. Then compare the chips' FLOP/s.",
    traps=(
        WrongOrder(
            order=(_GP, _GD, _TP, _TD),
            feedback="A prompt is fast, 8,192 tokens at once, but it is not free: there are sixteen prompt tokens for each one generated.",
        ),
        WrongOrder(
            order=(_GP, _TP, _GD, _TD),
            feedback="Prefill uses a chip better than decode, but it has sixteen times the tokens to pass through the model.",
        ),
        WrongOrder(
            order=(_GD, _GP, _TD, _TP),
            feedback="An H100 does the arithmetic of five v5e. That is less than the gap between prefill and decode on one kind of chip.",
        ),
        WrongOrder(order=_BY_SIZE[::-1], feedback="The order is right but runs backwards: fewest comes first."),
    ),
    hints=(
        "Compare prefill with decode on one kind of chip first.",
        "Prefill chips = queries x 2 P S / (C x 0.4).",
        f"{QUERIES:,} x 2 x 70e9 x {CONTEXT:,} FLOP/s, over 990e12 x 0.4 for H100.",
    ),
    solution="; ".join(f"{name}: {_fleets[name]:,}" for name in _BY_SIZE) + ".",
)

_variants = {
    "answers": decode_fleet(NODE, answer=2 * ANSWER),
    "kv": decode_fleet(replace(NODE, kv="bf16")),
    "total": decode_fleet(NODE, context=CONTEXT - ANSWER / 2),
    "exact": decode_fleet(replace(NODE, params="exact")),
    "prefill": _gpus + _gpu_prefill,
    "limit": decode_fleet(NODE, max_step=LIMIT),
}


def _matters(change: str) -> bool:
    return abs(_variants[change] / _gpus - 1) > 0.1


MISSING = Multiple(
    id="10-q4-missing",
    prompt=f"Problem 4 leaves much unsaid. Which of these moves the {_gpus} H100 by more than a tenth? Tick all that do.",
    options=(
        Option(
            text="8K is prompt and answer together, not the prompt alone",
            correct=_matters("total"),
            feedback=f"The mean number of cached tokens falls by {ANSWER // 2}, from {CONTEXT:,}. {_variants['total']} H100: hardly a change.",
        ),
        Option(
            text="Answers have 1,024 tokens, not 512",
            correct=_matters("answers"),
            feedback=f"Each query stays for twice the steps: {_variants['answers']} H100. The problem does not say how long answers are.",
        ),
        Option(
            text="Every prompt must be read first",
            correct=_matters("prefill"),
            feedback=f"{_variants['prefill']:,} H100. This is the largest of the unsaid things.",
        ),
        Option(
            text="No step may take longer than 15 ms",
            correct=_matters("limit"),
            feedback=(
                f"Still {_variants['limit']}. The plateau begins at a batch of {ceil(critical_batch(H100_TEXT, 'int8'))}, whose step takes "
                f"{_ms(decode_step(NODE, best_batch(NODE, CONTEXT), CONTEXT).total)}: a smaller batch costs no throughput until then."
            ),
        ),
        Option(
            text="The cache is in bf16",
            correct=_matters("kv"),
            feedback=f"Twice the bytes of every cached token: {_variants['kv']} H100. It is the default of engines.",
        ),
        Option(
            text="Exact parameters, not 70e9",
            correct=_matters("exact"),
            feedback=f"{_variants['exact']} H100. They are 0.8 % more, and on the plateau they count in the arithmetic only.",
        ),
    ),
    hints=(
        "On the plateau a token costs one reading of its cache and one pass of arithmetic. What touches these, or the number of tokens?",
        "Chips = queries x G x (S kv / W + 2 P / C), and prefill on top.",
        f"For each change: by what factor does G, S, kv or P grow? A step limit matters only below {_ms(decode_step(NODE, best_batch(NODE, CONTEXT), CONTEXT).total)}.",
    ),
    solution="; ".join(
        f"{text}: {_variants[key]:,}"
        for key, text in (
            ("answers", "1,024 tokens"),
            ("kv", "bf16 cache"),
            ("prefill", "with prefill"),
            ("total", "8K in all"),
            ("limit", "15 ms"),
            ("exact", "exact parameters"),
        )
    )
    + ".",
)

QUESTIONS: tuple[Question, ...] = (
    *(FLOPS, COMPUTE, FLOOR, ORDER, TOTAL, TOPOLOGY),
    *(WHY_NOT_32, LARGEST, MINIMUM, GPUS, TPUS, FLEETS, MISSING),
)
