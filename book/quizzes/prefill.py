"""Questions and exercise of chapter 7, prefill and disaggregation. Every key and every trap is computed."""

from dataclasses import replace
from math import ceil

from quizzes.latency import prefill_exercise
from scaling import (
    H100_TEXT,
    LLAMA3_70B,
    TPU_V5E_TEXT,
    Deployment,
    decode_step,
    eviction_rate,
    max_batch,
    prefill_decode_ratio,
    prefill_time,
)
from scaling.course.exercise import Exercise
from scaling.course.questions import Multiple, Numeric, Option, Ordering, Question, Sharper, Single, Trap, WrongOrder
from scaling.units import ms, number

# Sixteen v5e, weights, cache and arithmetic in bf16, with the constants of the text; and a node of eight H100.
SLICE = Deployment(model=LLAMA3_70B, chip=TPU_V5E_TEXT, chips=16, params="nominal")
NODE = replace(SLICE, chip=H100_TEXT, chips=8)
MFU = 0.4
PROMPT, BATCH, SHORT, LONG = 8192, 32, 512, 4096

PREFILL = prefill_time(SLICE, PROMPT, mfu=MFU)
FULL = max_batch(SLICE, PROMPT)
STEP = decode_step(SLICE, BATCH, PROMPT).total
FULL_STEP = decode_step(SLICE, FULL, PROMPT).total
RATIO = prefill_decode_ratio(PREFILL, STEP, BATCH, SHORT)

# As the text writes them.
TEXT_PREFILL, TEXT_STEP = 910 * ms, 19 * ms
TEXT_RATIO = prefill_decode_ratio(TEXT_PREFILL, TEXT_STEP, BATCH, SHORT)


def _ms(seconds: float) -> str:
    return f"{number(seconds / ms)} ms"


_SLICE = "LLaMA 3-70B (70e9 parameters) runs on 16 TPU v5e, 197 TFLOP/s each in bf16, all weights and cache in bf16."

# --- exercise --------------------------------------------------------------------------------------------------------


def _servers(*, prefill: float, step_ms: float, batch: int, prompt_tokens: int, decode_tokens: int) -> float:
    return prefill_decode_ratio(prefill, step_ms * ms, batch, decode_tokens)


SERVERS = Exercise(
    _servers,
    cases=tuple(
        {"prefill": prefill, "step_ms": step_ms, "batch": batch, "prompt_tokens": prompt, "decode_tokens": decode}
        for prefill, step_ms, batch, prompt, decode in (
            (0.91, 19.0, 32, 8192, 512),
            (0.3620, 8.4, 24, 8192, 4096),
            (0.0905, 5.3, 3, 2048, 300),
        )
    ),
    mistakes={
        "upside down. These are decode servers for each prefill server.": lambda **a: 1 / _servers(**a),
        "upside down, and milliseconds are mixed with seconds.": lambda **a: ms / _servers(**a),
        "milliseconds are mixed with seconds: step_ms is in ms, prefill in s.": lambda **a: _servers(**a) * ms,
        "milliseconds were multiplied by 1000. To get seconds, divide.": lambda **a: _servers(**a) * ms * ms,
        "the batch is forgotten. A decode server works on all its sequences at once.": lambda **a: _servers(
            **{**a, "batch": 1}
        ),
        "the batch divides. More sequences at once means more answers finished, and more prompts wanted.": (
            lambda **a: _servers(**a) / a["batch"] ** 2
        ),
        "you divided by one step. A sequence stays for decode_tokens steps.": lambda **a: _servers(
            **{**a, "decode_tokens": 1}
        ),
        "you took 512 tokens, whatever decode_tokens says.": lambda **a: _servers(**{**a, "decode_tokens": SHORT}),
        "prompt tokens in place of generated ones. The prompt's length is in the prefill time already.": (
            lambda **a: _servers(**{**a, "decode_tokens": a["prompt_tokens"]})
        ),
        "prompt and answer together. Only generated tokens take decode steps.": lambda **a: _servers(
            **{**a, "decode_tokens": a["prompt_tokens"] + a["decode_tokens"]}
        ),
        "the two times alone. Batch and answer length are missing.": lambda **a: _servers(
            **{**a, "batch": 1, "decode_tokens": 1}
        ),
    },
)
# --- time to first token ---------------------------------------------------------------------------------------------

_with_attention = prefill_time(SLICE, PROMPT, mfu=MFU, attention=True)

TTFT = Numeric(
    id="07-ttft",
    prompt=f"{_SLICE} How long does the prefill of {PROMPT:,} tokens take at 40 % MFU? Matrices only, no queue.",
    answer=PREFILL,
    unit="ms",
    right=(
        f"Two FLOP for each parameter and token, at 40 % of what 16 chips can do. Attention would add "
        f"{number(100 * (_with_attention / PREFILL - 1))} %."
    ),
    traps=prefill_exercise(SLICE).traps(
        {
            "that is 8 H100 at 40 %, another machine.": prefill_time(NODE, PROMPT, mfu=MFU),
            "you took the int8 rate, 394 TFLOP/s.": PREFILL / 2,
            "you shared the work among 8 chips. There are 16.": prefill_time(replace(SLICE, chips=8), PROMPT, mfu=MFU),
            "that is a decode step: it reads memory. A prefill multiplies thousands of tokens at once.": FULL_STEP,
        },
        chips=16,
        tokens=PROMPT,
        mfu=MFU,
    ),
    sharper=(
        Sharper(
            value=_with_attention,
            feedback=f"You counted attention's own FLOPs too. With the matrices only it is {_ms(PREFILL)}.",
        ),
    ),
    hints=(
        "Count the FLOP of the prompt, and the FLOP/s that the slice really delivers.",
        "T_prefill = 2 P S / (N C MFU).",
        f"2 x 70e9 x {PROMPT:,} FLOP, over 16 x 197e12 x 0.4 FLOP/s.",
    ),
    solution=(
        f"2 x 70e9 x {PROMPT:,} = {number(PREFILL * SLICE.flops * MFU)} FLOP. The slice delivers "
        f"{number(SLICE.flops * MFU)} FLOP/s. The quotient is {_ms(PREFILL)}."
    ),
)

# --- eviction --------------------------------------------------------------------------------------------------------

_leaving = eviction_rate(BATCH, PROMPT, LONG)
_EVICTION = (
    f"{BATCH} sequences decode together. Each had a prompt of {PROMPT:,} tokens and generates {LONG:,}; one that is "
    "done leaves, and a new one takes its place."
)

FINISHING = Numeric(
    id="07-finishing",
    prompt=f"{_EVICTION} How many sequences finish per step, on average?",
    answer=_leaving.sequences,
    unit="sequences per step",
    rtol=0.01,
    right=(
        f"One every {number(round(1 / _leaving.sequences))} steps. It is a count, not a share: put no percent sign behind it. "
        f"The share of the batch that leaves is {number(100 * _leaving.share)} %."
    ),
    traps=(
        Trap(
            value=100 * _leaving.sequences,
            feedback=(
                "You turned it into percent, as the text does. Percent of what? "
                "32/4096 counts sequences, so as a count your number is 100 times too large."
            ),
        ),
        Trap(
            value=_leaving.share,
            feedback=f"That is the chance that one given sequence finishes in this step. There are {BATCH} of them.",
        ),
        Trap(
            value=1 / _leaving.sequences,
            feedback="That is its inverse: the steps from one finished sequence to the next.",
        ),
        Trap(
            value=eviction_rate(BATCH, PROMPT, PROMPT + LONG).sequences,
            feedback="You divided by the final length. Prompt tokens take no decode steps: a sequence stays for its own 4,096.",
        ),
        Trap(
            value=eviction_rate(BATCH, PROMPT, SHORT).sequences,
            feedback=f"That is for answers of {SHORT} tokens, which belong to another calculation of the text.",
        ),
        Trap(
            value=eviction_rate(BATCH, 0, PROMPT).sequences,
            feedback=f"You divided by the prompt. It is read before the first step; what takes steps are the {LONG:,} tokens generated.",
        ),
        Trap(
            value=100 * _leaving.share,
            feedback="That is the share of the batch that finishes, in percent. The question asks how many sequences that is.",
        ),
    ),
    hints=(
        "How many steps does one sequence stay? How many sequences stay at once?",
        "Little's law: those present = rate x time that each stays. So rate = B / G.",
        f"{BATCH} present, {LONG:,} steps each.",
    ),
    solution=f"{BATCH} / {LONG:,} = {number(_leaving.sequences)} sequences a step, or one in {number(round(1 / _leaving.sequences))} steps.",
)

EVICTED = Numeric(
    id="07-evicted",
    prompt=f"{_EVICTION} How many cached tokens are freed per step, on average? Give the exact number.",
    answer=_leaving.tokens,
    unit="tokens per step",
    rtol=0.0,
    right=(
        f"Each sequence leaves with {PROMPT + LONG:,} tokens. It balances: {BATCH} tokens a step are generated, and new "
        f"prompts bring {number(round(_leaving.sequences * PROMPT))} more."
    ),
    traps=(
        Trap(
            value=eviction_rate(BATCH, 0, LONG).tokens,
            feedback="You freed the generated tokens only. The cache of the prompt goes with them.",
        ),
        Trap(
            value=eviction_rate(BATCH, PROMPT, LONG).tokens - eviction_rate(BATCH, 0, LONG).tokens,
            feedback="You freed the prompt only. By the end the answer is in the cache as well.",
        ),
        Trap(
            value=float(PROMPT + LONG),
            feedback=f"That is one whole sequence. Only one in {number(round(1 / _leaving.sequences))} steps leaves.",
        ),
        Trap(
            value=BATCH * (PROMPT + LONG / 2) / LONG,
            feedback="You used the average length. That is what memory sees; a sequence that leaves has its final length.",
        ),
        Trap(
            value=float(BATCH * (PROMPT + LONG)),
            feedback=f"That is the whole batch. Only 1 in {LONG:,} of it leaves in a step.",
        ),
        Trap(
            value=eviction_rate(1, PROMPT, LONG).tokens,
            feedback=f"That is the part of one sequence. There are {BATCH} of them, any of which may finish.",
        ),
        Trap(
            value=eviction_rate(BATCH, PROMPT, SHORT).tokens,
            feedback=f"That is for answers of {SHORT} tokens, which belong to another calculation of the text.",
        ),
        Trap(
            value=_leaving.sequences,
            feedback="Those are the sequences that leave. Each takes all its cached tokens with it.",
        ),
        Trap(
            value=1 / _leaving.sequences,
            feedback="Those are the steps from one sequence that leaves to the next. How many tokens does it take along?",
        ),
    ),
    hints=(
        "Sequences that leave per step, times what each of them frees.",
        "B / G sequences, of S_prompt + G tokens each.",
        f"{BATCH} / {LONG:,} sequences a step, {PROMPT:,} + {LONG:,} tokens each.",
    ),
    solution=f"{BATCH} x ({PROMPT:,} + {LONG:,}) / {LONG:,} = {number(round(_leaving.tokens))} tokens a step.",
)

# --- the ratio -------------------------------------------------------------------------------------------------------

PER_SERVER = Numeric(
    id="07-ratio",
    prompt=(
        "A prefill server takes 0.91 s for a prompt. A decode server takes 19 ms for a step of 32 sequences; each "
        "generates 512 tokens. How many prefill servers keep one decode server busy? Take the numbers as given."
    ),
    answer=TEXT_RATIO,
    unit="",
    rtol=0.01,
    right=(
        "In 0.91 s one prefill server readies one sequence, and the decode server finishes nearly three. "
        "That is the sum of the text. The next question looks at what went into it."
    ),
    traps=SERVERS.traps(
        {
            f"you took {LONG:,} tokens from the question on eviction. Here an answer has {SHORT}.": prefill_decode_ratio(
                TEXT_PREFILL, TEXT_STEP, BATCH, LONG
            ),
            f"you used the step that belongs to {BATCH} sequences, {_ms(STEP)}. That is the better sum. "
            "This question asks for the one with 19 ms.": prefill_decode_ratio(PREFILL, STEP, BATCH, SHORT),
            f"you used the batch that belongs to 19 ms, {FULL} sequences. That is a better sum. "
            f"This question asks for the one with {BATCH}.": prefill_decode_ratio(PREFILL, FULL_STEP, FULL, SHORT),
            "you rounded up to whole servers, from a batch or a step of your own. Take the numbers as given.": float(
                ceil(RATIO)
            ),
        },
        rtol=0.01,
        prefill=TEXT_PREFILL,
        step_ms=TEXT_STEP / ms,
        batch=BATCH,
        prompt_tokens=PROMPT,
        decode_tokens=SHORT,
    ),
    hints=(
        "Compare two rates: prompts readied per second, answers finished per second.",
        "One server starts 1 / T_prefill a second; the other finishes B / (T_step G).",
        "0.91 s x 32, over 0.019 s x 512.",
    ),
    solution=(
        f"Prefill: 1 / 0.91 s = {number(1 / TEXT_PREFILL)} a second. Decode: 32 / (0.019 s x 512) = "
        f"{number(BATCH / (TEXT_STEP * SHORT))} a second. The quotient is {number(TEXT_RATIO)}."
    ),
)


def _off(said: float, computed: float) -> bool:
    return abs(said / computed - 1) > 0.02


INCONSISTENT = Single(
    id="07-inconsistent",
    prompt=(
        "All in bf16, the sum took 910 ms (16 v5e, 40 % MFU, 8,192 tokens), a batch of 32, steps of 19 ms and answers of 512 tokens. "
        "Which input does not belong with the others?"
    ),
    options=(
        Option(
            text="40 % MFU: decode runs at a much lower one",
            feedback=(
                "MFU enters the prefill time only. The decode step is limited by reading, and no MFU is in it. "
                "40 % is an assumption that one may make."
            ),
        ),
        Option(
            text=f"910 ms: on these chips a prompt of that length takes {_ms(prefill_time(NODE, PROMPT, mfu=MFU))}",
            correct=_off(TEXT_PREFILL, PREFILL),
            feedback=(
                f"That is the time on 8 H100. This sum is about 16 v5e, and there it is {_ms(PREFILL)}: 910 ms is right."
            ),
        ),
        Option(
            text="19 ms: that is a step at another batch",
            correct=_off(TEXT_STEP, STEP),
            feedback=(
                f"A step of {BATCH} sequences takes {_ms(STEP)}. About 19 ms is what a full memory takes, and full means "
                f"{FULL} sequences: {_ms(FULL_STEP)}."
            ),
        ),
        Option(
            text="512 tokens: the eviction rate was computed with 4,096",
            feedback="Those are two examples with loads of their own. What matters is that each sum keeps to one.",
        ),
    ),
    hints=(
        "Recompute each input from the others.",
        "T_step = B S kv / (N W) + P b_w / (N W), bf16 throughout.",
        f"32 x {PROMPT:,} x {number(SLICE.kv_per_token)} B of cache and 140e9 B of weights, at 16 x 810e9 B/s.",
    ),
    solution=(
        f"Prefill: {_ms(PREFILL)}. Step at batch {BATCH}: {_ms(STEP)}, at batch {FULL}: {_ms(FULL_STEP)}. "
        f"A batch of {BATCH} with its own step gives a ratio of {number(RATIO)}, a batch of {FULL} with its own "
        f"{number(prefill_decode_ratio(PREFILL, FULL_STEP, FULL, SHORT))}."
    ),
)

# --- the path of a request -------------------------------------------------------------------------------------------

_PREFILL, _TRANSFER, _INSERT, _DECODE, _EVICT = _PATH = (
    "prefill: the prompt passes the model once",
    "transfer: keys and values cross the network",
    "insertion: the sequence joins a decode batch",
    "decode: one step for each further token",
    "eviction: the cache is freed",
)

PATH = Ordering(
    id="07-path",
    prompt="Prefill and decode have servers of their own. What happens to a request, from first to last?",
    items=_PATH,
    right=(
        "The cache is made in one place and used in another, so it must travel in between. The first token comes out "
        "of the prefill itself."
    ),
    other="Ask of each stage what it needs: decode needs a place in a batch, and that place needs the cache.",
    traps=(
        WrongOrder(
            order=(_PREFILL, _INSERT, _TRANSFER, _DECODE, _EVICT),
            feedback="A sequence without its cache cannot take part in a step: all the others would wait for the network.",
        ),
        WrongOrder(
            order=(_PREFILL, _INSERT, _DECODE, _TRANSFER, _EVICT),
            feedback="This would decode on the prefill server. The transfer is there to leave it free for the next prompt.",
        ),
        WrongOrder(
            order=(_PREFILL, _TRANSFER, _EVICT, _INSERT, _DECODE),
            feedback="The decode server reads this cache at every step. It is freed when the last token is out.",
        ),
        WrongOrder(order=_PATH[::-1], feedback="The order is right but runs backwards: the prompt comes first."),
    ),
    hints=(
        "Follow the keys and values: who makes them, who reads them?",
        "The prefill server makes them, the decode server reads them at every step.",
        "The first stage works on the prompt. The last one gives memory back.",
    ),
    solution="; ".join(_PATH) + ".",
)

# --- what moves the ratio --------------------------------------------------------------------------------------------


def _ratio(d: Deployment, *, batch: int = BATCH, tokens: float = PROMPT, decode_tokens: int = SHORT) -> float:
    step = decode_step(d, batch, PROMPT).total
    return prefill_decode_ratio(prefill_time(d, tokens, mfu=MFU), step, batch, decode_tokens)


_twice_chips = _ratio(replace(SLICE, chips=32))
_light = prefill_decode_ratio(PREFILL, decode_step(replace(SLICE, weights="int8"), BATCH, PROMPT).total, BATCH, SHORT)
_changes = {
    "answers twice as long": _ratio(SLICE, decode_tokens=2 * SHORT),
    "chips": _twice_chips,
    "hit": _ratio(SLICE, tokens=PROMPT / 10),
    "batch": _ratio(SLICE, batch=FULL),
    "node": _ratio(NODE),
    "int8": _light,
}


def _lower(change: str) -> bool:
    return _changes[change] < RATIO * (1 - 1e-9)


LOWERS = Multiple(
    id="07-what-lowers",
    prompt=(
        f"Servers of 16 v5e, prompts of {PROMPT:,} tokens, a decode batch of {BATCH}, answers of {SHORT} tokens, all bf16: "
        "the ratio of prefill to decode servers is R. Which changes lower R? Tick all that do."
    ),
    options=(
        Option(
            text="32 chips in every server, of both kinds",
            correct=_lower("chips"),
            feedback=(
                "Both times are halved, and R stays as it was, "
                f"{number(_twice_chips)}: the number of chips cancels when the batch stays the same."
            ),
        ),
        Option(
            text="Answers of 1,024 tokens",
            correct=_lower("answers twice as long"),
            feedback=(
                "A sequence stays for twice the steps, so decode servers ask for half as many prompts. "
                f"R is {number(_changes['answers twice as long'])}."
            ),
        ),
        Option(
            text=f"A decode batch of {FULL}",
            correct=_lower("batch"),
            feedback=(
                f"The step grows more slowly than the batch, since the weights are read once for all. Decode finishes "
                f"more answers, and R rises to {number(_changes['batch'])}."
            ),
        ),
        Option(
            text="Nine tenths of every prompt found in a cache of prefixes",
            correct=_lower("hit"),
            feedback=f"Only a tenth is left to compute. R falls to {number(_changes['hit'])}.",
        ),
        Option(
            text="Int8 weights on the decode servers, at the same batch",
            correct=_lower("int8"),
            feedback=f"The step gets shorter, so decode finishes answers faster and R rises, to {number(_changes['int8'])}.",
        ),
        Option(
            text="Servers of 8 H100 for both pools, at the same batch",
            correct=_lower("node"),
            feedback=(
                "An H100 has more FLOP/s for each byte/s than a v5e. That favours prefill, and R is "
                f"{number(_changes['node'])}."
            ),
        ),
    ),
    hints=(
        "R is a quotient of two rates. For each change: which rate moves?",
        "R = T_prefill B / (T_step G).",
        "T_prefill has N and C in it, T_step has N and W. What cancels, and what remains?",
    ),
    solution=f"R is {number(RATIO)}. "
    + "; ".join(
        f"{text}: {number(_changes[key])}"
        for key, text in (
            ("chips", "32 chips"),
            ("answers twice as long", "1,024 tokens"),
            ("batch", f"batch {FULL}"),
            ("hit", "90 % hits"),
            ("int8", "int8 weights"),
            ("node", "8 H100"),
        )
    )
    + ".",
)

QUESTIONS: tuple[Question, ...] = (TTFT, FINISHING, EVICTED, PATH, PER_SERVER, INCONSISTENT, LOWERS)
