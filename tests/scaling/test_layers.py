"""Windows, latent caches and experts: sums by hand, and what holds for each of them."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from scaling import disaggregation, latency, memory, prefix, roofline, throughput
from scaling.chips import H100, H200
from scaling.deployment import Deployment, parallel_sizes
from scaling.engines import pool
from scaling.layers import Experts, Latent, Window
from scaling.models import LLAMA3_8B, LLAMA3_70B, Model
from tests.scaling.strategies import deployments
from tests.scaling.toys import TOY, TOY_MODEL

# Two of three layers keep 11 tokens. Experts in two layers: 5, each 19 wide, 2 of them active, and a shared one of 23.
WINDOWED = replace(TOY_MODEL, name="windowed", window=Window(tokens=11, layers=2))
MIXTURE = replace(
    TOY_MODEL, name="mixture", experts=Experts(layers=2, routed=5, active=2, d_ff=19, shared_d_ff=23, router_bias=True)
)
LATENT = replace(
    TOY_MODEL,
    name="latent",
    kv_heads=1,
    latent=Latent(q_rank=17, kv_rank=19, rope_dim=2, nope_dim=3, value_dim=7),
)
SMALL = replace(TOY, chips=4, params="exact")


def of(model: Model, **fields: Any) -> Deployment:
    return replace(SMALL, model=model, **fields)


# By hand -------------------------------------------------------------------------------------------------------------


def test_a_window_by_hand() -> None:
    # 2 x 2 x 13 = 52 numbers a token and layer, of 4 bytes: below the window 3 layers of it, beyond it one.
    d = of(WINDOWED)
    for context, numbers in ((0, 0), (11, 3 * 11 * 52), (12, (12 + 22) * 52), (1000, (1000 + 22) * 52)):
        assert memory.cache_bytes(d, 7, context) == pytest.approx(7 * 4 * numbers)
        assert latency.decode_step(d, 7, context).cache == pytest.approx(7 * 4 * numbers / (4 * 1009))
        assert roofline.attention_flops(WINDOWED, context) == pytest.approx(4 * 22 * numbers / 4)
        assert disaggregation.transfer_time(WINDOWED, context, 101, kv="fp32") == pytest.approx(4 * numbers / 101)
    assert WINDOWED.params == TOY_MODEL.params
    # Pairs of a token and one before it, in layers of 22 x 13 that take 4 FLOP a pair: 1000 = 989 + 11.
    pairs = 1000**2 / 2 + 2 * (1000**2 - 989**2) / 2
    assert roofline.causal_flops(WINDOWED, 1000) == pytest.approx(4 * 22 * 13 * pairs)
    assert throughput.plateau(d, 1000, overlapped=True) == pytest.approx(4 * 1009 / (4 * 1022 * 52))


def test_experts_by_hand() -> None:
    # One layer of 3 x 5 x 7; two of 3 x 5 x (5 x 19 + 23) with routers of 5 x 5 + 5.
    mlp, router = 105 + 2 * 15 * 118, 2 * 30
    assert (MIXTURE.mlp_params, MIXTURE.router_params, MIXTURE.routed_params) == (mlp, router, 2 * 15 * 95)
    assert MIXTURE.params == TOY_MODEL.params - 315 + mlp + router
    assert MIXTURE.active_params == MIXTURE.params - 2 * 15 * 3 * 19
    assert MIXTURE.token_d_ff == 2 * 19 + 23
    d = of(MIXTURE)
    for B in (0, 1, 2, 50):
        read = MIXTURE.params - 2850 * 0.6**B
        step = latency.decode_step(d, B, 0)
        assert step.weights == pytest.approx(read * 0.5 / (4 * 1009))
        assert step.compute == pytest.approx(2 * B * MIXTURE.active_params / (4 * 4001))
        least = (MIXTURE.matmul_params - 2850 * 0.6**B) * 0.5 / (4 * 1009)
        flops = 2 * B * (MIXTURE.matmul_params - 1710) / (4 * 4001)
        assert step.floor == pytest.approx(max(least, flops))
    assert memory.weight_bytes(d) == MIXTURE.params * 0.5  # all of them have to fit
    assert memory.activation_bytes(MIXTURE, 3).mlp == 2 * 2 * 3 * 61
    assert latency.prefill_time(d, 3) == pytest.approx(2 * MIXTURE.active_params * 3 / (4 * 4001))
    # A piece of a prompt wakes experts, too.
    assert latency.mixed_step(d, 1, 0, 9).weights == pytest.approx((MIXTURE.params - 2850 * 0.6**10) * 0.5 / (4 * 1009))


def test_the_share_of_idle_experts_counts_all_choices() -> None:
    """Every way in which three tokens can choose 2 of 5 experts, each as likely as the others."""
    pairs = [(i, j) for i in range(5) for j in range(i)]
    idle = [5 - len(set(sum(chosen, ()))) for chosen in product(pairs, repeat=3)]
    assert MIXTURE.experts is not None
    assert MIXTURE.experts.idle(3) == pytest.approx(sum(idle) / len(idle) / 5)
    np.testing.assert_allclose(MIXTURE.experts.idle(np.array([0, 1, 3])), [1, 0.6, 0.216])


def test_a_latent_cache_by_hand() -> None:
    # 3 layers of 19 + 2 numbers; all 22 heads multiply by them, and sum the 19.
    d = of(LATENT, kv="bf16")
    assert LATENT.kv_bytes_per_token("fp32") == 4 * 3 * 21
    # Down 5 x (17 + 21); queries 17 x 22 x 5; keys and values 19 x 22 x 10; out 22 x 7 x 5.
    assert LATENT.attention_params == 3 * (190 + 1870 + 4180 + 770)
    assert LATENT.norm_params == 35 + 3 * (17 + 19)
    assert roofline.attention_flops(LATENT, 1) == 2 * 3 * 22 * (21 + 19)
    read, work = 7 * 100 * 126 / (4 * 1009), 7 * 100 * 5280 / (4 * 2003)
    assert latency.decode_step(d, 7, 100).cache == pytest.approx(max(read, work)) and work > read
    assert latency.decode_step(replace(d, kv="fp32"), 7, 100).cache == pytest.approx(work)
    assert roofline.attention_intensity(LATENT, "bf16") == pytest.approx(work * 4 * 2003 / (read * 4 * 1009))
    assert roofline.causal_flops(LATENT, 100) == 100**2 * 22 * (13 + 7) * 3
    # No heads to share out: each chip keeps all of it, unless the batch is split.
    assert replace(d, kv_split="heads").kv_per_token == 4 * d.kv_per_token == 4 * 126
    one = replace(d, chips=2)
    assert pool.chip_token_bytes(one) == 126
    down = 3 * 190 * 0.5  # once more than half
    plain = (LATENT.params * 0.5 + (LATENT.params - LATENT.attention_params - LATENT.mlp_params) * 1.5 + down) / 2
    assert pool.loaded_weight_bytes(one) == plain


# Laws ----------------------------------------------------------------------------------------------------------------

kinds = st.sampled_from([WINDOWED, MIXTURE, LATENT, replace(MIXTURE, window=Window(tokens=3, layers=3))])
counts = st.integers(0, 5000)


@given(kinds, counts, counts, counts)
def test_more_is_never_less(model: Model, batch: int, context: int, more: int) -> None:
    d = of(model)
    assert memory.cache_bytes(d, batch, context) <= memory.cache_bytes(d, batch, context + more)
    assert memory.max_batch(d, context) >= memory.max_batch(d, context + more)
    short, long = latency.decode_step(d, batch, context), latency.decode_step(d, batch + more, context + more)
    assert short.total <= long.total * (1 + 1e-12) and short.floor <= long.floor * (1 + 1e-12)
    assert short.floor <= short.total * (1 + 1e-12)
    assert memory.cache_bytes(d, batch, context) <= 1.0 * batch * context * d.kv_per_token * (1 + 1e-12)


@given(deployments(), st.integers(1, 2000), st.integers(1, 200_000))
def test_a_mixture_with_every_expert_active_is_dense(d: Deployment, batch: int, context: int) -> None:
    m = d.model
    for routed in (1, 4):
        width = m.d_ff // 4 * 4
        dense = replace(d, model=replace(m, d_ff=width))
        all_of = Experts(layers=m.layers, routed=routed, active=routed, d_ff=width // routed)
        mixture = replace(dense, model=replace(dense.model, experts=all_of))
        routers = m.layers * routed * m.d_model
        if d.params != "nominal":
            assert mixture.model.params == mixture.model.active_params == dense.model.params + routers
        ours, theirs = latency.decode_step(mixture, batch, context), latency.decode_step(dense, batch, context)
        near = 1 + routers / dense.model.params + 1e-9
        loaded = 4.0 if d.layout == "loaded" else 1.0  # routers are kept in more bits
        for name in ("weights", "compute", "cache", "overhead"):
            value = getattr(theirs, name)
            assert value * (1 - 1e-9) <= getattr(ours, name) <= value * (1 + (near - 1) * 4 * loaded) + 1e-30


@given(kinds, st.integers(0, 3000), st.floats(1e-3, 1e4))
def test_the_batch_of_a_step_takes_that_step(model: Model, context: int, step: float) -> None:
    d = of(model)
    batch = throughput.batch_at_step(d, context, step)
    assert latency.decode_step(d, batch, context).total <= step * (1 + 1e-9) or batch == 0
    assert latency.decode_step(d, batch * (1 + 1e-6) + 1e-9, context).total >= step * (1 - 1e-9)
    assert throughput.batch_at_step(d, context, np.array([step, np.inf]))[1] == np.inf


def test_the_critical_batch_of_a_mixture_is_where_the_two_are_equal() -> None:
    for d in (of(MIXTURE), of(MIXTURE, compute="bf16", weights="fp8")):
        step = latency.decode_step(d, throughput.balanced_batch(d), 0)
        assert step.weights == pytest.approx(step.compute)
    d = Deployment(model=replace(LLAMA3_70B, experts=Experts(layers=80, routed=64, active=2, d_ff=3584)), chip=H100)
    share = d.model.params / d.model.active_params
    assert throughput.balanced_batch(d) == pytest.approx(roofline.critical_batch(H100) * share, rel=1e-3)


def test_every_size_splits_the_experts() -> None:
    odd = replace(LLAMA3_8B, experts=Experts(layers=32, routed=8, active=2, d_ff=14_338))
    assert (parallel_sizes(LLAMA3_8B, H200), parallel_sizes(odd, H200)) == ((1, 2, 4, 8), (1, 2))


# Refused -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: prefix.saved_bytes(WINDOWED, 8, 3), "model must be of a model without window attention"),
        (lambda: throughput.cache_over_weights_tokens(of(WINDOWED)), "d must be of a model without window attention"),
        (lambda: throughput.cache_over_compute_context(of(WINDOWED)), "d must be of a model without window attention"),
        (lambda: throughput.cache_over_weights_tokens(of(MIXTURE)), "reads all its weights in each step, not mixture."),
        (lambda: pool.chip_token_bytes(of(WINDOWED, chips=2)), "unless token_bytes is given, not windowed."),
        (lambda: pool.stage_of(of(MIXTURE), 2), "stages must be 1 for a model whose layers are of several kinds"),
        (lambda: replace(TOY_MODEL, window=Window(tokens=1, layers=4)), "Model.window.layers must be at most"),
        (lambda: replace(MIXTURE, layers=1), "Model.experts.layers must be at most Model.layers, 1, not 2."),
        (lambda: replace(LATENT, kv_heads=2), "Model.latent must stand in every layer"),
        (lambda: replace(TOY_MODEL, latent=WINDOWED.window), "Model.latent must be a Latent record, not"),
        (
            lambda: replace(TOY_MODEL, biases=("q",)),
            "Model.biases must be a tuple of qkv, output, sinks, mlp, norm, head",
        ),
        (lambda: Window(tokens=0, layers=1), "Window.tokens must be"),
        (lambda: Experts(layers=1, routed=2, active=3, d_ff=1), "Experts.active must be at most the 2 routed, not 3."),
        (lambda: replace(MIXTURE, tower_bytes=-1.0), "Model.tower_bytes must be"),
    ],
)
def test_what_is_not_described_is_refused_by_name(ask: Any, said: str) -> None:
    with pytest.raises(ValueError) as error:
        ask()
    assert said in str(error.value)
