"""How long a step takes, in terms that can be looked at one by one."""

from typing import Any, NamedTuple

from scaling._array import Array, maximum, where, with_words
from scaling._checks import count, flag, nonnegative, record, share, word
from scaling.deployment import Deployment
from scaling.roofline import attention_flops, causal_flops
from scaling.sharding import collective_time


class _Terms(NamedTuple):
    weights: Array
    compute: Array
    cache: Array
    collectives: Array = 0.0
    overhead: Array = 0.0


class StepTime(_Terms):
    """The five terms of one step. [s] Each has the broadcast shape of what it depends on.

    `total` is the serial roofline, the law of an engine that runs one kernel after another. `floor` is no term, and the
    one of the two that is a bound: no schedule on this hardware takes less. 0 where it is not known, as for a step that
    is made of its five terms alone.
    """

    # A function and what it is called with: a sweep of plain numbers takes twice as long if each step computes a floor
    # that nobody asks for. It stands beside the tuple, so that a sum over the terms is one.
    _least: tuple[Any, ...] = ()
    _hidden: bool = False  # whether the collectives hide behind the matmuls; the term says how long they take

    @property
    def floor(self) -> Array:
        """What no schedule on this hardware can do without. [s]"""
        if not self._least:
            return 0.0
        function, *arguments = self._least
        return function(*arguments)

    def without(self, *terms: str) -> "StepTime":
        """The same step with these terms at 0, as if the chip did that in no time; of such a chip no floor is known.

        Raises ``ValueError`` for what is no name of a term.
        """
        return self._replace(**{word("terms", term, self._fields): 0.0 for term in terms})

    def _replace(self, **terms: Any) -> "StepTime":
        """The same step with other terms: what hides still hides, and the floor, which was the old terms', is gone."""
        step = super()._replace(**terms)
        step._hidden = self._hidden
        return step

    __replace__ = _replace  # what `copy.replace` calls

    @property
    def matmul(self) -> Array:
        """Reading the weights and multiplying by them overlap: the longer of the two. [s]"""
        return maximum(self.weights, self.compute)

    @property
    def total(self) -> Array:
        """``T_step = T_cache + max(T_weights, T_compute)``, plus collectives and overhead. [s]

        Of collectives that hide behind the matmuls only what is left of them.
        """
        weights, compute, cache, collectives, overhead = self
        matmul = maximum(weights, compute)
        return cache + (maximum(matmul, collectives) if self._hidden else matmul + collectives) + overhead

    @property
    def longest(self) -> Array:
        """Name of the longest term: ``"weights"``, ``"compute"``, ``"cache"``, ``"collectives"`` or ``"overhead"``."""
        name, longest = "weights", with_words(self.weights)
        for other in self._fields[1:]:
            value = with_words(getattr(self, other))
            name = where(value > longest, other, name)
            longest = maximum(value, longest)
        return name


def decode_step(d: Deployment, batch: Array, context: Array) -> StepTime:
    """Time for every sequence of the batch to gain one token. [s]

    ::

        T_weights = P b_w / (N W)    T_compute = 2 B P / (N C)    T_cache = B S kv / (N W)

        T_step = T_cache + max(T_weights, T_compute)

        T_floor = max((P_min b_w + B S kv) / (N W), 2 B P_min / (N C))

    The floor takes the peaks, whatever the efficiency, each KV head once, and P_min, the matmul parameters: neither the
    input embedding nor the norms have to pass through the chip. Without speculation ``TPOT = T_step``.

    `batch`: B, broadcasts with the context. [sequences, whole deployment]
    `context`: S, cached already. [tokens per sequence]

    A mixture of experts multiplies by the active parameters and reads, of uniform routing the mean, the experts that
    the batch chooses, ``1 - (1 - k / E)^B`` of all (`scaling.layers.Experts.idle`). Layers with a window read what
    they keep. With a latent cache T_cache is the longer of reading it and of attention's arithmetic in bf16; the floor
    counts only the reading.

    Leaves out attention's FLOPs, which hide behind reading the cache, sampling and scheduling: errs low. P b_w also
    leaves out the scales of groups of weights and that the head stays in 16 bits: T_weights errs low by 6.3 % for
    LLaMA 3-70B in int4 and 14.1 % for 8B, by 13.1 % and 19.3 % in fp4, and by less than 0.01 % in fp8. Collectives and
    a cost per layer count only if the efficiency asks for them.

    Raises ``ValueError`` for a negative batch or context.
    Source: scaling-book part 8; for the floor, arXiv 2408.12757 (NanoFlow), whose engine overlaps what `total` adds.
    """
    record("d", d, Deployment)
    B, S, kv = nonnegative("batch", batch), nonnegative("context", context), d.kv_per_token
    P, NW, NC = d.active_params, d.bandwidth, d.flops
    read = 1.0 * B * d.model.cached_tokens(S) * kv / NW
    step = StepTime(
        d.read_seconds(B),
        2.0 * B * P / NC,
        read if d.model.latent is None else maximum(read, _latent_seconds(d, B, S) / d.efficiency.flops),
        0.0 if d.efficiency.links is None else collective_time(d, B),
        d.layer_seconds,
    )
    step._least, step._hidden = (_decode_floor, d, B, S), d.efficiency.hidden
    return step


def _latent_seconds(d: Deployment, B: Array, S: Array) -> Array:  # noqa: N803
    """Time of a latent cache's arithmetic at the peak of bf16, in which kernels do it whatever the cache is kept in."""
    return 1.0 * B * attention_flops(d.model, S) / (1.0 * d.chips * d.chip.rate("bf16"))


def _decode_floor(d: Deployment, B: Array, S: Array) -> Array:  # noqa: N803
    S = d.model.cached_tokens(S)
    return _floor(d, B, 1.0 * B * S * d.model.kv_bytes_per_token(d.kv), 2.0 * B * d.least_active_params)


def _floor(d: Deployment, tokens: Array, cache: Array, flops: Array) -> Array:
    """All the bytes over the bandwidth or all the FLOP over the rate, whichever is longer, both at their peaks."""
    return maximum((d.least_bytes(tokens) + cache) / d.peak_bandwidth, flops / d.peak_flops)


def matmul_time(d: Deployment, batch: Array, d_model: Array, d_ff: Array) -> StepTime:
    """Time of multiplying the batch by one matrix, D x F, spread over all the chips. [s]

    ::

        weights = D F b_w / (N W)    compute = 2 B D F / (N C)

    `batch`: B. [sequences]
    `d_model`, `d_ff`: the widths of the matrix, D and F; the deployment's own model is not asked.

    Leaves out reading and writing the activations, and the links: errs low.

    Raises ``ValueError`` for a negative batch or a width below 1.
    Source: scaling-book part 1, the roofline of a matmul.
    """
    record("d", d, Deployment)
    B, NW, NC = nonnegative("batch", batch), d.bandwidth, d.flops
    D, F = count("d_model", d_model), count("d_ff", d_ff)
    size, flop = 1.0 * D * F * d.weight_size, 2.0 * B * D * F
    step = StepTime(size / NW, flop / NC, 0.0)
    step._least = maximum, size / d.peak_bandwidth, flop / d.peak_flops
    return step


def prefill_time(d: Deployment, tokens: Array, *, mfu: Array | None = None, attention: bool = False) -> Array:
    """Time to process a prompt: ``T_prefill = 2 P S / (N C MFU)``. [s]

    Collectives and a cost per layer are added if the efficiency asks for them, as in a decode step.

    `tokens`: prompt length S, or all the prompts' lengths together. [tokens]
    `mfu`: share of the peak FLOP/s reached, MFU; the efficiency's `flops` if not given. [-]
    `attention`: add causal attention, as for one single prompt: ``T_prefill = (2 P S + 2 S^2 H L Q) / (N C MFU)``.

    Without `attention` errs low: by 7 % for LLaMA 3-70B and 12 % for 8B at 8,192 tokens, by 55 % and 68 % at 131,072,
    where it lies below `prefill_floor` by factors of 2.2 and 3.0. For long prompts use ``attention=True``.

    Without a queue ``TTFT = T_prefill``. Leaves out queueing, and reading the weights, which takes longer below the
    critical batch: errs low there. Counts both embeddings for every token, though a lookup needs no arithmetic and only
    the last token needs the head: errs high, by 3 % for LLaMA 3-70B and 15 % for 8B.

    Raises ``ValueError`` for negative tokens or an `mfu` outside (0, 1].
    Source: scaling-book part 7, and part 4 for attention.
    """
    record("d", d, Deployment)
    work = _prompt_compute(d, tokens, mfu, attention=flag("attention", attention))
    # A prompt sends as much over the links as a batch of as many sequences.
    sent = 0.0 if d.efficiency.links is None else collective_time(d, tokens)
    return (maximum(work, sent) if d.efficiency.hidden else work + sent) + d.layer_seconds


def _prompt_compute(d: Deployment, tokens: Array, mfu: Array | None, *, attention: bool = False) -> Array:
    """Time of a prompt's arithmetic alone. [s]"""
    S, P = nonnegative("tokens", tokens), d.active_params
    work = 2.0 * P * S + (causal_flops(d.model, S) if attention else 0.0)
    return work / (d.flops if mfu is None else d.peak_flops * share("mfu", mfu))


def prefill_floor(d: Deployment, tokens: Array, *, batch: Array = 1) -> Array:
    """Time below which no schedule on these chips processes prompts. [s]

    ::

        T_floor = max(P_min b_w / (N W), B (2 (P_min - V D) S + 2 V D + 2 S^2 H L Q) / (N C))

    The weights are read once, the head is needed for the last token only, token i attends to i others; both peaks are
    reached, whatever the efficiency, and overlap perfectly. 0 without tokens.

    `tokens`: of each prompt, S. [tokens per sequence]
    `batch`: prompts processed together, B. [sequences]

    Leaves out writing the cache, and the softmax: errs low by less than a hundredth.

    Raises ``ValueError`` for a negative argument.
    Source: the least that a prompt's matrices ask for; scaling-book part 4 for attention.
    """
    record("d", d, Deployment)
    S, B, m = nonnegative("tokens", tokens), nonnegative("batch", batch), d.model
    head = 2.0 * m.vocab * m.d_model
    each = (2.0 * d.least_active_params - head) * S + head + causal_flops(m, S)
    return where(1.0 * B * S > 0, _floor(d, 1.0 * B * S, 0.0, B * each), 0.0)


def mixed_step(d: Deployment, batch: Array, context: Array, tokens: Array, *, mfu: Array | None = None) -> StepTime:
    """Time of a step that processes a piece of a prompt beside the batch, as chunked prefill does. [s]

    ``T_mixed = T_cache + max(T_weights, 2 P (B + S_prompt) / (N C MFU))``, with weights and cache of `decode_step`.

    One reading of the weights serves both: that is why a piece beside a batch takes less time than the two apart.

    `batch`: B, as in `decode_step`. [sequences]
    `context`: S, as in `decode_step`. [tokens per sequence]
    `tokens`: S_prompt, of all the prompts in this step. [tokens]
    `mfu`: as in `prefill_time`, for the matmuls of both, which are one. [-]

    Leaves out attention of the piece, to itself and to what its prompt has cached already: errs low, for LLaMA 3-70B
    by 2 % of the prompt's time at 2,048 tokens and by 8 % at 8,192.

    Raises ``ValueError`` for a negative argument or an `mfu` outside (0, 1].
    Source: Sarathi-Serve, arXiv 2403.02310.
    """
    alone = decode_step(d, batch, context)
    together = 1.0 * nonnegative("batch", batch) + nonnegative("tokens", tokens)
    sent = 0.0 if d.efficiency.links is None else collective_time(d, together)
    step = StepTime(d.read_seconds(together), _prompt_compute(d, together, mfu), alone.cache, sent, alone.overhead)
    # The longer of the two floors: all reading, which is the batch's, and all arithmetic, which is both's.
    step._least, step._hidden = (maximum, alone.floor, decode_step(d, together, 0).floor), d.efficiency.hidden
    return step
