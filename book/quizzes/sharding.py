"""Questions and exercises of chapter 6, sharding for generation. Every key and every trap is computed."""

from dataclasses import replace
from math import isclose

from scaling import (
    H100_TEXT,
    LLAMA3_70B,
    TPU_V5E_TEXT,
    TPU_V5P_TEXT,
    Deployment,
    cache_bytes,
    decode_step,
    parallel_sizes,
    tp_limit,
    weight_bytes,
)
from scaling.course.exercise import Exercise
from scaling.course.questions import Multiple, Numeric, Option, Ordering, Question, Single, Trap, WrongOrder
from scaling.sharding import link_bandwidth, matmul_collective_time
from scaling.units import GB, TFLOP, ms, number, us

D, F, B = LLAMA3_70B.d_model, LLAMA3_70B.d_ff, 64

# Beyond the node: each GPU has one 400 Gb/s network card, and a node has eight of them.
NIC = replace(H100_TEXT, name="H100 over one network card", link_bandwidth=50 * GB)
EGRESS = replace(NIC, name="H100 over the node's eight cards", link_bandwidth=8 * NIC.link_bandwidth)

V5E_LINK = TPU_V5E_TEXT.link_bandwidth
V5E_ONE = tp_limit(TPU_V5E_TEXT, F, axes=1, wrap=True)
V5E_TWO = tp_limit(TPU_V5E_TEXT, F, wrap=True)

# --- exercise  -------------------------------------------------------------------------------------------------------

_DTYPE = {2: "bf16", 1: "int8"}


def _limit(*, d_ff: int, flops: float, link: float, axes: int, wrap: bool, act_bytes: int) -> float:
    chip = replace(TPU_V5E_TEXT, flops={"bf16": flops}, link_bandwidth=link, link_axes=axes)
    return tp_limit(chip, d_ff, wrap=wrap, activations=_DTYPE[act_bytes])


TP_LIMIT = Exercise(
    reference=_limit,
    cases=tuple(
        {
            "d_ff": d_ff,
            "flops": chip.rate("bf16"),
            "link": chip.link_bandwidth,
            "axes": axes,
            "wrap": wrap,
            "act_bytes": act_bytes,
        }
        for chip, d_ff, axes, wrap, act_bytes in (
            (TPU_V5E_TEXT, 28_672, 2, True, 2),
            (TPU_V5E_TEXT, 28_672, 2, False, 2),
            (H100_TEXT, 14_336, 1, False, 1),
            (TPU_V5P_TEXT, 53_248, 3, True, 1),
        )
    ),
    mistakes={
        "one direction only; a wrapped axis sends both ways at once, which doubles it.": lambda **a: _limit(
            **{**a, "wrap": False}
        ),
        "you took both directions always; without the wrap-around each axis has one.": lambda **a: _limit(
            **{**a, "wrap": True}
        ),
        "one axis only; each axis carries its part of the bytes.": lambda **a: _limit(**{**a, "axes": 1}),
        "two bytes per activation always; the two 2s cancel in bf16 only, so act_bytes must stay.": lambda **a: _limit(
            **{**a, "act_bytes": 2}
        ),
        "one byte per activation always; act_bytes is missing.": lambda **a: _limit(**{**a, "act_bytes": 1}),
        "multiplied by act_bytes; more bytes to move lower the limit, so it stands below the line.": lambda **a: (
            _limit(**a) * a["act_bytes"] ** 2
        ),
        "one FLOP per weight and sequence; a multiplication and an addition make two.": lambda **a: _limit(**a) / 2,
        "neither axes nor wrap-around: that is a single link in one direction.": lambda **a: _limit(
            **{**a, "axes": 1, "wrap": False}
        ),
        "the ring is the wrong way round: it is the wrap-around that doubles an axis.": lambda **a: _limit(
            **{**a, "wrap": not a["wrap"]}
        ),
        "axes times wrap is 0 where nothing wraps. An axis that does not wrap still has one direction.": lambda **a: (
            _limit(**{**a, "wrap": False}) if a["wrap"] else 0.0
        ),
        "upside down: that is the limit's reciprocal.": lambda **a: 1 / _limit(**a),
    },
)
# --- the bytes on one link -------------------------------------------------------------------------------------------

_move = matmul_collective_time(TPU_V5E_TEXT, B, D, axes=1, wrap=True)
_one_way = matmul_collective_time(TPU_V5E_TEXT, B, D, axes=1)


def _us(seconds: float) -> str:
    return f"{number(seconds / us)} µs"


LINK_TIME = Numeric(
    id="06-link-time",
    prompt=(
        f"{B} sequences pass through one matmul of LLaMA 3-70B (D = {D:,}) with bf16 activations. The AllGather in front of "
        f"it runs on one wrapped axis of TPU v5e, whose links carry {number(V5E_LINK / GB)} GB/s each way. "
        "How long does it take? Leave out the part that each chip has already."
    ),
    answer=_move,
    unit="us",
    rtol=0.03,
    right=(
        "On a ring each chip sends both ways at once, so the axis counts twice. The number of chips is "
        "hardly in it: a factor (Y-1)/Y for the part that each has already, left out here."
    ),
    traps=(
        Trap(
            value=matmul_collective_time(TPU_V5E_TEXT, B, D, axes=2, wrap=True),
            feedback=(
                "That is half. Either you used both axes of the torus, and here one carries the AllGather, or you counted "
                "one byte per activation, and bf16 has two."
            ),
        ),
        Trap(
            value=_one_way,
            feedback=(
                "That is twice as long. Either you used one direction only, and a wrapped axis sends both ways at once, "
                "or you counted the ReduceScatter of the second matmul too."
            ),
        ),
        Trap(
            value=2 * _one_way,
            feedback=(
                "That is a whole AllReduce in one direction. This matmul has the AllGather only, and a wrapped axis uses "
                "both directions."
            ),
        ),
        Trap(
            value=matmul_collective_time(TPU_V5E_TEXT, B, F, axes=1, wrap=True),
            feedback=(
                "You moved the wide activations between the two matrices. Those stay where they are made: that is the "
                "point of splitting the first matrix by columns. What travels is D wide."
            ),
        ),
        Trap(
            value=8 * _move,
            feedback="That is 8 times as long. The links carry 45 gigabytes a second, not 45 gigabits.",
        ),
        Trap(
            value=2 * D * F / link_bandwidth(TPU_V5E_TEXT, axes=1, wrap=True),
            feedback="You moved the weights. They stay on their chips; what travels is the activations, B times D numbers.",
        ),
    ),
    hints=(
        "You need the bytes of the activations and the bandwidth of the axis.",
        "b_act B D over W_link; a wrapped axis has twice the one-way link.",
        f"2 x {B} x {D:,} = {number(int(2 * B * D))} bytes.",
    ),
    solution=(
        f"2 x {B} x {D:,} = {number(int(2 * B * D))} bytes over "
        f"{number(link_bandwidth(TPU_V5E_TEXT, axes=1, wrap=True) / GB)} GB/s is {_us(_move)}."
    ),
)

# --- how far against arithmetic --------------------------------------------------------------------------------------

_V5P = tp_limit(TPU_V5P_TEXT, F, axes=2, wrap=True)
_SIZES = parallel_sizes(LLAMA3_70B, TPU_V5E_TEXT)
_largest = max(n for n in _SIZES if n <= V5E_TWO)

_WAYS = {
    8: (
        f"That stays inside the limit of one wrapped axis, {number(V5E_ONE)}. Two axes carry twice the bytes, so the limit "
        f"is {number(V5E_TWO)} and there is room for more."
    ),
    16: (
        f"The limit is {number(V5E_TWO)}, and 16 is the largest slice below it. That holds for two wrapped axes; what a real "
        "group of 16 chips has comes next."
    ),
    22: (
        f"That is the limit of TPU v5p, {number(_V5P)}: it has more FLOP/s per byte of link. On v5e the limit is "
        f"{number(V5E_TWO)}; and no slice has 22 chips, nor do {LLAMA3_70B.q_heads} query heads divide by 22."
    ),
    32: (
        f"{number(V5E_TWO)} is a ceiling, so round down: at 32 ways the arithmetic of each chip is shorter than the "
        "transfer, and the extra chips wait."
    ),
}

WAYS = Single(
    id="06-compute-limit",
    prompt=(
        "LLaMA 3-70B (F = 28,672) runs at a large batch on TPU v5e: 197 TFLOP/s, two wrapped axes with 45 GB/s one way, "
        "bf16 throughout. How many ways of tensor parallelism are the most that do not wait for the links?"
    ),
    options=tuple(Option(text=f"{n} ways", feedback=said, correct=n == _largest) for n, said in _WAYS.items()),
    hints=(
        "Ask when the arithmetic of one matmul is as long as its share of the transfers.",
        "Y = 2 F W_link / (C b_act), with W_link = axes x 2 x one way.",
        f"W_link is 2 x 2 x 45 = {number(link_bandwidth(TPU_V5E_TEXT, wrap=True) / GB)} GB/s.",
    ),
    solution=(
        f"28,672 x {number(link_bandwidth(TPU_V5E_TEXT, wrap=True) / GB)} GB/s over "
        f"{number(TPU_V5E_TEXT.rate('bf16') / TFLOP)} TFLOP/s is {number(V5E_TWO)} ways; the largest slice inside is "
        f"{_largest}."
    ),
)

_nvlink = tp_limit(H100_TEXT, F)
_mean_width = (LLAMA3_70B.attention_params + LLAMA3_70B.mlp_params) / (4 * LLAMA3_70B.layers * D)

NVLINK = Numeric(
    id="06-nvlink-limit",
    prompt=(
        "Now an H100 node: 990 TFLOP/s and 450 GB/s of NVLink one way per GPU. With F = 28,672 and bf16, beyond how many "
        "ways does a matmul at a large batch wait for the links?"
    ),
    answer=_nvlink,
    unit="ways",
    rtol=0.01,  # tells the limit of the mean width from that of the network cards
    right="The factor 2 of the FLOPs and the two bytes of bf16 cancel: what is left is F W_link / C.",
    traps=TP_LIMIT.traps(
        {
            "you used 900 GB/s, the headline that adds both directions, or one byte where a bf16 activation has two.": tp_limit(
                H100_TEXT, F, wrap=True
            ),
            "you used one network card of 50 GB/s. Inside the node the traffic stays on NVLink.": tp_limit(NIC, F),
            "that is the limit beyond the node, with 400 GB/s from its eight network cards.": tp_limit(EGRESS, F),
            "you used D. The limit grows with the width that is split, which is F; D appears in all terms.": tp_limit(
                H100_TEXT, D
            ),
            "you took the fp8 rate, which is twice the 990 of bf16.": tp_limit(H100_TEXT, F) / 2,
            "that is the size of the node, a habit more than a limit. Ask when the links take as long as the arithmetic.": (
                float(H100_TEXT.fast_domain)
            ),
            "you rounded up to a size that one can split over: at 16 ways the links take longer. The question asks where that begins.": (
                2.0 * H100_TEXT.fast_domain
            ),
            "that is the limit of the mean width of a layer's matrices. The question gives F.": tp_limit(
                H100_TEXT, _mean_width
            ),
        },
        rtol=0.01,
        without=("always", "the ring"),
        d_ff=F,
        flops=H100_TEXT.rate("bf16"),
        link=H100_TEXT.link_bandwidth,
        axes=1,
        wrap=False,
        act_bytes=2,
    ),
    hints=(
        "Set the time of arithmetic equal to the time on the links, and solve for Y.",
        "2 B D F / (Y C) = b_act B D / W_link.",
        f"C / W_link is {number(H100_TEXT.rate('bf16') / link_bandwidth(H100_TEXT))} FLOP per byte.",
    ),
    solution=(
        f"Y = 2 F W_link / (C b_act) = 28,672 / {number(H100_TEXT.rate('bf16') / link_bandwidth(H100_TEXT))} = "
        f"{number(_nvlink)}. Eight ways fit inside; sixteen do not."
    ),
)

# --- how far against reading -----------------------------------------------------------------------------------------

_bf16 = tp_limit(TPU_V5E_TEXT, F, batch=B, axes=1, wrap=True)
_int8 = tp_limit(TPU_V5E_TEXT, F, batch=B, axes=1, wrap=True, weights="int8")
_fp8 = tp_limit(TPU_V5E_TEXT, F, batch=B, axes=1, wrap=True, weights="int8", activations="int8")


def _changes(factor: float) -> bool:
    return isclose(_int8 / _bf16, factor)


INT8_LIMIT = Single(
    id="06-int8-limit",
    prompt=(
        "At a small batch, reading the weights is longer than multiplying. You store the weights in int8 and keep bf16 "
        "activations. What becomes of the tensor-parallel limit?"
    ),
    options=(
        Option(
            text="It stays: it depends on F and the batch only",
            correct=_changes(1),
            feedback=(
                "F and B are in it, and so are the two dtypes. It would stay if the activations were halved too: "
                f"{number(_fp8)} ways in both cases at batch {B}."
            ),
        ),
        Option(
            text="It doubles: smaller weights can be shared out further",
            correct=_changes(2),
            feedback=(
                "Smaller weights are read sooner, so the transfer catches up with fewer ways. The limit moves the other "
                "way."
            ),
        ),
        Option(
            text="It falls to a quarter: fewer bytes, and faster arithmetic",
            correct=_changes(1 / 4),
            feedback=(
                "The arithmetic stays in bf16, and it is hidden behind the reading anyway. Only the bytes of the weights "
                "changed, by a factor of 2."
            ),
        ),
        Option(
            text="It halves: the weights are read in half the time",
            correct=_changes(1 / 2),
            feedback=(
                "Reading takes half the time and the transfer takes what it took: "
                f"{number(_bf16)} ways become {number(_int8)} at batch {B} on one wrapped axis of v5e."
            ),
        ),
    ),
    hints=(
        "Which two times balance at the limit, and which of them changes?",
        "D F b_w / (Y W) = b_act B D / W_link.",
        "b_w goes from 2 bytes to 1; b_act stays 2.",
    ),
    solution=(
        f"Y = F b_w W_link / (B b_act W) is proportional to b_w: {number(_bf16)} in bf16, {number(_int8)} in int8 "
        f"(batch {B}, one wrapped axis of v5e)."
    ),
)

# --- what happens first ----------------------------------------------------------------------------------------------

_HEADS = "more chips than KV heads"
_ARITHMETIC = "the arithmetic is shorter than the transfer"
_INT8 = "reading int8 weights is shorter than the transfer"
_BF16 = "reading bf16 weights is shorter than the transfer"
_AT: dict[str, float] = {_HEADS: LLAMA3_70B.kv_heads, _ARITHMETIC: V5E_ONE, _INT8: _int8, _BF16: _bf16}


def _order(**at: float) -> tuple[str, ...]:
    """The events as ways grow, with some of them where a mistake would put them."""
    ways = {**_AT, **at}
    return tuple(sorted(ways, key=lambda event: ways[event]))


EVENTS = Ordering(
    id="06-first-limit",
    prompt=(
        f"LLaMA 3-70B (F = {F:,}) decodes {B} sequences on one wrapped axis of TPU v5e, with bf16 activations and arithmetic. "
        "Each chip does 197 TFLOP/s, reads 810 GB/s and has links of 45 GB/s each way. You add more and more "
        "ways of tensor parallelism. What happens first? Put the events in order."
    ),
    items=_order(),
    right=(
        f"Past {LLAMA3_70B.kv_heads} chips the KV heads run out; the arithmetic meets the transfer at {number(V5E_ONE)}, the "
        f"reading at {number(_int8)} in int8 and {number(_bf16)} in bf16. The first binding limit is in the cache, not in a "
        "matmul."
    ),
    other=(
        f"Compute the number of ways for each event: {LLAMA3_70B.kv_heads} KV heads, 2 F W_link / (C b_act) for the "
        "arithmetic, F b_w W_link / (B b_act W) for reading."
    ),
    traps=(
        WrongOrder(
            order=_order(**{_INT8: 2 * _bf16}),
            feedback=(
                "Smaller weights do not shard further. They are read sooner, so the transfer overtakes their reading with "
                "fewer ways."
            ),
        ),
        WrongOrder(
            order=_order(**{_HEADS: LLAMA3_70B.q_heads}),
            feedback=(
                f"You waited for the {LLAMA3_70B.q_heads} query heads. The cache holds {LLAMA3_70B.kv_heads} KV heads, and they "
                "run out first."
            ),
        ),
        WrongOrder(
            order=_order(**{_ARITHMETIC: 2 * _bf16}),
            feedback=(
                f"At batch {B} the arithmetic is the shorter of the two, so the transfer overtakes it first. Being "
                "hidden, it does not matter when."
            ),
        ),
        WrongOrder(order=_order()[::-1], feedback="The order is right but runs backwards: the fewest ways come first."),
    ),
    hints=(
        "Each event has a number of ways. One of them is a property of the model alone.",
        "Y = 2 F W_link / (C b_act) for arithmetic, F b_w W_link / (B b_act W) for reading; the model has K heads to split.",
        f"W_link is {number(link_bandwidth(TPU_V5E_TEXT, axes=1, wrap=True) / GB)} GB/s, and K is {LLAMA3_70B.kv_heads}.",
    ),
    solution="; ".join(f"{event}: beyond {number(_AT[event])} ways" for event in _order()) + ".",
)

# --- the cache beyond eight chips ------------------------------------------------------------------------------------

HEADS = Deployment(
    model=LLAMA3_70B,
    chip=TPU_V5E_TEXT,
    chips=16,
    weights="int8",
    kv="int8",
    params="nominal",
    kv_split="heads",
)


def _less(d: Deployment) -> float:
    """How much less of a cache each chip holds than a chip that serves alone."""
    return cache_bytes(replace(d, chips=1), 1, 1) / (cache_bytes(d, 1, 1) / d.chips)


_SAID = {
    16: (
        "That would need half a KV head per chip. Heads are not split: 16 chips share 8 heads, so two chips keep the same "
        "one."
    ),
    64: (
        f"You divided by the query heads. The cache holds keys and values, and only the {LLAMA3_70B.kv_heads} KV heads have "
        "those."
    ),
    8: (
        f"There are {LLAMA3_70B.kv_heads} heads to share out. The other eight chips keep copies, so each holds as much as "
        "with 8 ways."
    ),
    1: "Whole copies everywhere would be replicas. Here each chip keeps one head out of eight.",
}

KV_PER_CHIP = Single(
    id="06-kv-per-chip",
    prompt=(
        "LLaMA 3-70B runs 16 ways, and its 8 KV heads are copied where they run out. By what factor do the cache bytes on "
        "each chip fall, compared with one chip that serves the same batch?"
    ),
    options=tuple(
        Option(
            text="not at all" if factor == 1 else f"{factor} times",
            feedback=said,
            correct=isclose(factor, _less(HEADS)),
        )
        for factor, said in _SAID.items()
    ),
    hints=(
        "What is the smallest piece of the cache that a chip can hold?",
        "Each chip holds at least one KV head, of K in all.",
        "16 chips over 8 heads: each head is stored twice.",
    ),
    solution=(
        f"Each chip keeps one KV head of {LLAMA3_70B.kv_heads}, an eighth of the cache. Together they store it "
        f"{number(HEADS.kv_copies)} times, and read it as often."
    ),
)

# --- what to split with ----------------------------------------------------------------------------------------------

_NODE = Deployment(model=LLAMA3_70B, chip=H100_TEXT, chips=8, params="nominal")
_floor = decode_step(_NODE, 1, 0).weights
_gather = (1 - 1 / _NODE.chips) * weight_bytes(_NODE) / link_bandwidth(H100_TEXT)  # but for its own slice
# A stage holds half of the layers, and a token passes both stages in turn.
_stage = replace(
    _NODE, model=replace(LLAMA3_70B, layers=LLAMA3_70B.layers // 2, nominal_params=LLAMA3_70B.nominal_params / 2)
)
_staged = 2 * decode_step(_stage, 1, 0).weights


def _ms(seconds: float) -> str:
    return f"{number(seconds / ms)} ms"


SPLITS = Multiple(
    id="06-which-parallelism",
    prompt="You serve tokens to many users. Which of these help? Tick all.",
    options=(
        Option(
            text="replicas: whole copies of the server behind a load balancer",
            correct=True,
            feedback=(
                "Requests are independent, so copies need not talk to each other. This is how every large service grows."
            ),
        ),
        Option(
            text="FSDP: each chip keeps a slice of every weight and gathers a layer just before using it",
            correct=_gather < _floor,
            feedback=(
                f"It moves the weights in every step: {_ms(_gather)} over NVLink for 70B in bf16, against {_ms(_floor)} to "
                "read them from memory on 8 GPUs. Training spreads that over thousands of tokens, decode does not."
            ),
        ),
        Option(
            text="pipeline stages, so that a model too large for one node fits on two",
            correct=True,
            feedback="Pipeline stages add up the memory of both nodes, and only one activation per token crosses between them.",
        ),
        Option(
            text="pipeline stages, so that one user gets a token sooner",
            correct=_staged < _floor,
            feedback=(
                "A token visits the stages in turn, so at each moment one stage reads. Two 8-way stages read the weights "
                f"in {_ms(_staged)}; one node of 8 GPUs alone takes {_ms(_floor)}."
            ),
        ),
        Option(
            text="tensor parallelism inside a fast domain",
            correct=True,
            feedback="All chips read their part of each weight at the same time: it is what makes a step shorter.",
        ),
        Option(
            text="splitting the cache by sequence or by position",
            correct=True,
            feedback=(
                "A split cache keeps every byte once, also where KV heads run out. The price is an exchange in every layer."
            ),
        ),
        Option(
            text="expert parallelism, for a mixture of experts",
            correct=True,
            feedback=(
                "Whole experts live on different chips, and tokens travel to them. A dense model such as LLaMA 3 has none."
            ),
        ),
    ),
    hints=(
        "Ask what each one moves in every step, and what it multiplies: memory, bandwidth or users.",
        "Weights are P b_w bytes, activations B D b_act. Which of the two may travel in every step?",
        f"The weights of the 70B model are {number(weight_bytes(_NODE) / GB)} GB.",
    ),
    solution=(
        "Replicas multiply users, tensor parallelism bandwidth, pipeline stages and split caches memory, expert "
        "parallelism places the experts. FSDP sends the weights over the links each step, and stages do not shorten a "
        "token's way."
    ),
)

QUESTIONS: tuple[Question, ...] = (LINK_TIME, WAYS, NVLINK, INT8_LIMIT, EVENTS, KV_PER_CHIP, SPLITS)
