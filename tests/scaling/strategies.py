"""What the laws are tried on: any chip, model and deployment within real ranges, and batches and contexts to suit."""

from dataclasses import replace

from hypothesis import strategies as st

from scaling.chips import CATALOGUE, Chip
from scaling.deployment import Deployment, Efficiency
from scaling.models import LLAMA3_8B, LLAMA3_70B, LLAMA3_405B, Model
from scaling.units import DTYPE_BYTES

dtypes = st.sampled_from(sorted(DTYPE_BYTES))
batches = st.integers(0, 2_000)
contexts = st.integers(0, 200_000)
some_batches = st.integers(1, 2_000)
some_contexts = st.integers(1, 200_000)
shares = st.floats(0.05, 1.0)


@st.composite
def made_up_chips(draw: st.DrawFn) -> Chip:
    memory, bf16 = draw(st.floats(1e10, 4e11)), draw(st.floats(1e13, 5e15))
    axes = draw(st.integers(1, 3))
    return Chip(
        name="made up",
        vendor="NVIDIA",
        memory=memory,
        device_memory=1.07 * memory,
        bandwidth=draw(st.floats(5e11, 2e13)),
        flops={"bf16": bf16, "int8": bf16 * draw(st.sampled_from([1.0, 2.0]))},
        link_bandwidth=draw(st.floats(1e10, 1e12)),
        link_axes=axes,
        fast_domain=draw(st.sampled_from([1, 8, 72, 256])),
        price=draw(st.floats(0.5, 12)),
    )


@st.composite
def made_up_models(draw: st.DrawFn) -> Model:
    kv_heads = draw(st.sampled_from([1, 2, 4, 6, 8, 16]))
    model = replace(
        LLAMA3_8B,
        name="made up",
        layers=draw(st.integers(1, 130)),
        d_model=draw(st.sampled_from([512, 4096, 8192, 18_432])),
        d_ff=draw(st.sampled_from([1536, 14_336, 28_672, 53_248])),
        kv_heads=kv_heads,
        q_heads=kv_heads * draw(st.integers(1, 16)),
        head_dim=draw(st.sampled_from([64, 80, 128])),
        vocab=draw(st.sampled_from([32_000, 128_256])),
        tied_embeddings=draw(st.booleans()),
    )
    return replace(model, nominal_params=model.params * draw(st.floats(0.97, 1.03)))


chips = st.one_of(st.sampled_from(CATALOGUE), made_up_chips())
models = st.one_of(st.sampled_from([LLAMA3_8B, LLAMA3_70B, LLAMA3_405B]), made_up_models())

efficiencies = st.builds(
    Efficiency,
    bandwidth=shares,
    flops=shares,
    layer_seconds=st.sampled_from([0.0, 1e-6, 5e-5]),
    links=st.one_of(st.none(), shares),
    start=st.sampled_from([0.0, 5e-6]),
    hidden=st.booleans(),
)


@st.composite
def deployments(draw: st.DrawFn, *, measured: bool = True, even: bool = False) -> Deployment:
    """Any deployment; as a bound only when not `measured`, without copies of KV heads when `even`."""
    chip = draw(chips)
    extra = {"efficiency": draw(efficiencies)} if measured and draw(st.booleans()) else {}
    return Deployment(
        model=draw(models),
        chip=chip,
        chips=draw(st.integers(1, 512)),
        weights=draw(dtypes),
        kv=draw(dtypes),
        compute=draw(st.sampled_from(sorted(chip.flops))),
        params=draw(st.sampled_from(["exact", "nominal", "streamed"])),
        usable=draw(st.one_of(st.just(1.0), shares)),
        kv_split="even" if even else draw(st.sampled_from(["even", "heads"])),
        axes=draw(st.one_of(st.none(), st.integers(1, chip.link_axes))),
        wrap=draw(st.booleans()),
        **extra,
    )
