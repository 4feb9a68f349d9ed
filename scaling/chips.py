"""Accelerators: published facts only, dense rates, no derating. Every entry says where it comes from and when.

Vendor headlines often count 2:4 sparsity; the rates here are dense, which is half of such a headline.
Prices are per chip and hour, on demand, and go out of date first: pass your own with ``dataclasses.replace``.
"""

from collections.abc import Mapping

from scaling._array import plain
from scaling._checks import finite, label, positive, shown, whole, word
from scaling._records import Frozen, Record, replace
from scaling.units import GB, TB, TFLOP, GiB, dtype_bytes

VENDORS = ("NVIDIA", "AMD", "Google", "other")


class Chip(Record):
    """One accelerator.

    `vendor`: one of `VENDORS`. It decides which engines run on it.
    `memory`: bytes on the label, decimal. [B]
    `device_memory`: bytes that the device reports to software. [B]
    `bandwidth`: of that memory. [B/s]
    `flops`: dense rate by dtype of the arithmetic. [FLOP/s]
    `link_bandwidth`: one way, per link axis (an NVLink or Infinity Fabric switch counts as one axis). [B/s]
    `link_axes`: axes of the torus; 1 for a switch.
    `fast_domain`: most chips that such links join.
    `machine`: chips in one machine, which one launch command starts.
    `slices`: numbers of chips it is sold in; empty when any number can be used.
    `price`: per chip. [USD/h] NaN when no public price was found.

    For a chip of your own, ``dataclasses.replace`` a record, its `name`, `price` and `source` included.

    Raises ``ValueError`` that names the field, the value and what is allowed.
    """

    name: str
    vendor: str
    memory: float
    device_memory: float
    bandwidth: float
    flops: Mapping[str, float]
    link_bandwidth: float
    link_axes: int = 1
    fast_domain: int = 8
    machine: int = 8
    slices: tuple[int, ...] = ()
    price: float = float("nan")
    price_source: str = ""
    source: str = ""
    date: str = ""

    def __post_init__(self) -> None:
        label("Chip.name", self.name)
        word("Chip.vendor", self.vendor, VENDORS)
        for name in ("memory", "device_memory", "bandwidth", "link_bandwidth"):
            positive(f"Chip.{name}", getattr(self, name))
        for name in ("link_axes", "fast_domain", "machine"):
            object.__setattr__(self, name, whole(f"Chip.{name}", getattr(self, name)))
        if not isinstance(self.flops, Mapping) or not self.flops:
            raise ValueError(f"Chip.flops must map a dtype to its dense FLOP/s, not {shown(self.flops)}.")
        for dtype, rate in self.flops.items():
            dtype_bytes(dtype, "Chip.flops")
            if getattr(rate, "ndim", 0):
                raise ValueError(f"Chip.flops[{dtype!r}] must be a single number, not {shown(rate)}.")
            positive(f"Chip.flops[{dtype!r}]", rate)
        object.__setattr__(self, "flops", Frozen({dtype: plain(rate) for dtype, rate in self.flops.items()}))
        if not isinstance(self.slices, tuple):
            raise ValueError(f"Chip.slices must be a tuple of numbers of chips, not {shown(self.slices)}.")
        object.__setattr__(self, "slices", tuple(whole("Chip.slices", size) for size in self.slices))
        if isinstance(self.price, float) and self.price != self.price:
            return  # NaN, the one place where it says something: nobody knows
        finite("Chip.price", self.price)

    def axes(self, axes: int | None) -> int:
        """How many axes of its torus carry a collective: so many, or all for ``None``. A switch counts as one.

        Raises ``ValueError`` for axes that the chip does not have.
        """
        if axes is None:
            return self.link_axes
        try:
            some = whole("axes", axes)
        except ValueError:
            some = 0
        if not 1 <= some <= self.link_axes:
            raise ValueError(
                f"axes must be a whole number from 1 to {self.link_axes} on {self.name}, not {shown(axes)}."
            )
        return some

    def rate(self, compute: str) -> float:
        """Dense rate of arithmetic in dtype `compute`. [FLOP/s]

        Raises ``ValueError`` for a dtype the chip has no rate for.
        """
        try:
            return self.flops[compute]
        except (KeyError, TypeError):
            allowed = ", ".join(self.flops)
            raise ValueError(f"compute must be one of {allowed} on {self.name}, not {shown(compute)}.") from None


def _rates(*, bf16: float, **others: float) -> dict[str, float]:
    return {"bf16": bf16, "fp16": bf16, **others}


_TORUS_2D = (1, 4, 8, 16, 32, 64, 128, 256)
_TORUS_3D = tuple(4 * 2**i for i in range(12))

_HOPPER = "NVIDIA H100/H200 data sheets (headline rates halved: they count 2:4 sparsity)"
_BLACKWELL = "NVIDIA Blackwell data sheet, HGX B200 and GB200 NVL72 columns (headline rates halved)"
_NEBIUS = "Nebius on demand, SkyPilot catalog nebius/vms.csv, 2026"
_LAMBDA = "Lambda on demand, SkyPilot catalog lambda/vms.csv, 2026"
_NO_PRICE = "no public on-demand price looked up, 2026-11"
_GOOGLE = "docs.cloud.google.com/tpu/docs"

H100 = Chip(
    name="H100 SXM",
    vendor="NVIDIA",
    memory=80 * GB,
    device_memory=85.2 * GB,
    bandwidth=3.35 * TB,
    flops=_rates(bf16=989.5 * TFLOP, fp8=1979 * TFLOP, int8=1979 * TFLOP),
    link_bandwidth=450 * GB,
    price=2.95,
    price_source=_NEBIUS,
    source=_HOPPER,
    date="2026-11",
)

H200 = replace(H100, name="H200 SXM", memory=141 * GB, device_memory=149.3 * GB, bandwidth=4.8 * TB, price=3.50)

# One card of a machine with one, as it is rented. The large variant has 144 GB at 4.9 TB/s.
GH200 = replace(
    H100,
    name="GH200 96GB",
    **dict(memory=96 * GB, device_memory=102 * GB, bandwidth=4 * TB),
    fast_domain=1,
    machine=1,
    price=2.29,
    price_source=_LAMBDA,
    source="NVIDIA GH200 data sheet (headline rates halved); recalled, not looked up again",
)

# A seventh of an H100's arithmetic beside all of its links and more of its memory.
H20 = replace(
    H100,
    name="H20",
    **dict(memory=96 * GB, device_memory=102.6 * GB, bandwidth=4 * TB),
    flops=_rates(bf16=148 * TFLOP, fp8=296 * TFLOP, int8=296 * TFLOP),
    price=float("nan"),
    price_source=_NO_PRICE,
    source="NVIDIA H20 figures, dense, as willitrunai.com prints them, 2026-12",
)

B200 = Chip(
    name="B200",
    vendor="NVIDIA",
    memory=180 * GB,
    device_memory=193 * GB,
    bandwidth=7.7 * TB,
    flops=_rates(bf16=2250 * TFLOP, fp8=4500 * TFLOP, int8=4500 * TFLOP, fp4=9000 * TFLOP),
    link_bandwidth=900 * GB,
    price=5.50,
    price_source=_NEBIUS,
    source=_BLACKWELL,
    date="2026-11",
)

GB200 = replace(
    B200,
    name="GB200 NVL72",
    memory=186 * GB,
    device_memory=199 * GB,
    bandwidth=8 * TB,
    flops=_rates(bf16=2500 * TFLOP, fp8=5000 * TFLOP, int8=5000 * TFLOP, fp4=10_000 * TFLOP),
    fast_domain=72,  # one rack
    machine=4,  # one tray of it: two boards of a Grace CPU and two GPUs
    price=10.50,
    price_source="CoreWeave list price as tabulated by Kael Research, 2026-02",
)

A100 = Chip(
    name="A100 80GB SXM",
    vendor="NVIDIA",
    memory=80 * GB,
    device_memory=85.198 * GB,
    bandwidth=2.039 * TB,
    flops=_rates(bf16=312 * TFLOP, int8=624 * TFLOP),
    link_bandwidth=300 * GB,
    price=2.79,
    price_source=_LAMBDA,
    source="NVIDIA A100 data sheet (headline rates halved)",
    date="2026-11",
)

A100_40 = replace(
    A100,
    name="A100 40GB SXM",
    **dict(memory=40 * GB, device_memory=42.9 * GB, bandwidth=1.555 * TB),
    price=1.99,
)

L40S = Chip(
    name="L40S",
    vendor="NVIDIA",
    memory=48 * GB,
    device_memory=48.3 * GB,
    bandwidth=864 * GB,
    flops=_rates(bf16=362 * TFLOP, fp8=733 * TFLOP, int8=733 * TFLOP),
    link_bandwidth=32 * GB,
    price=1.55,
    price_source=_NEBIUS,
    source="NVIDIA L40S data sheet (headline rates halved); PCIe 4.0 x16",
    date="2026-11",
)

L4 = replace(
    L40S,
    name="L4",
    **dict(memory=24 * GB, device_memory=24.15 * GB, bandwidth=300 * GB),
    flops=_rates(bf16=121 * TFLOP, fp8=242.5 * TFLOP, int8=242.5 * TFLOP),
    price=float("nan"),
    price_source=_NO_PRICE,
    source="NVIDIA L4 data sheet (242 and 485 TFLOPS, halved), bandwidth as fpsbench.com, 2026-12; PCIe 4.0 x16",
)

A10G = replace(
    L40S,
    name="A10G",
    **dict(memory=24 * GB, device_memory=24.1 * GB, bandwidth=600 * GB),
    flops=_rates(bf16=70 * TFLOP, int8=140 * TFLOP),
    price=1.006,
    price_source="AWS g5.xlarge us-east-1, factualminds.com, 2026-06",
    source="memory as baseten.co, 2026-12; rates of the A10G data sheet (halved), recalled; PCIe 4.0 x16",
)

# Of the two cards for desktops the rates that add up in fp32, as engines do; in fp16 some are twice that.
RTX_4090 = replace(
    L40S,
    name="RTX 4090",
    **dict(memory=24 * GB, device_memory=25.76 * GB, bandwidth=1008 * GB),
    flops=_rates(bf16=165.2 * TFLOP, fp8=330.3 * TFLOP, int8=660.6 * TFLOP),
    price=float("nan"),
    price_source=_NO_PRICE,
    source="NVIDIA Ada architecture paper, dense, as hmc-tech.com prints it, 2026-12; PCIe 4.0 x16",
)

RTX_5090 = replace(
    L40S,
    name="RTX 5090",
    **dict(memory=32 * GB, device_memory=34.19 * GB, bandwidth=1792 * GB),
    flops=_rates(bf16=209.5 * TFLOP, fp8=419 * TFLOP, int8=838 * TFLOP, fp4=1676 * TFLOP),
    link_bandwidth=64 * GB,
    price=float("nan"),
    price_source=_NO_PRICE,
    source="NVIDIA RTX Blackwell figures as spheron.network prints them (sparse, halved), 2026-12; PCIe 5.0 x16",
)

MI300X = Chip(
    name="MI300X",
    vendor="AMD",
    memory=192 * GB,
    device_memory=206 * GB,
    bandwidth=5.3 * TB,
    flops=_rates(bf16=1307.4 * TFLOP, fp8=2614.9 * TFLOP, int8=2614.9 * TFLOP),
    link_bandwidth=448 * GB,
    price=1.99,
    price_source="median of on-demand offers, cliffcenter.com, 2026-05",
    source="AMD Instinct MI300X data sheet, dense",
    date="2026-11",
)

MI325X = replace(
    MI300X,
    name="MI325X",
    **dict(memory=256 * GB, device_memory=275 * GB, bandwidth=6 * TB),
    price=1.95,
    price_source="TensorWave, cliffcenter.com, 2026-05",
    source="AMD Instinct MI325X as in docs.vultr.com/inference-cookbook, dense",
)

TPU_V5E = Chip(
    name="TPU v5e",
    vendor="Google",
    memory=16 * GB,
    device_memory=17.2 * GB,
    bandwidth=819 * GB,
    flops=_rates(bf16=197 * TFLOP, int8=393 * TFLOP),
    link_bandwidth=50 * GB,
    link_axes=2,
    fast_domain=256,
    slices=_TORUS_2D,
    price=1.20,
    price_source="Google Cloud, as quoted in scaling-book part 8, 2025-02",
    source=f"{_GOOGLE}/v5e",
    date="2026-11",
)

TPU_V5P = Chip(
    name="TPU v5p",
    vendor="Google",
    memory=95 * GB,
    device_memory=102 * GB,
    bandwidth=2.765 * TB,
    flops=_rates(bf16=459 * TFLOP, fp8=459 * TFLOP, int8=918 * TFLOP),
    link_bandwidth=100 * GB,
    link_axes=3,
    fast_domain=8960,
    machine=4,  # the other TPUs here have machines of one, four and eight
    slices=_TORUS_3D,
    price=4.20,
    price_source="Google Cloud list price us-central1, SkyPilot catalog gcp/vms.csv, 2026",
    source=f"{_GOOGLE}/v5p",
    date="2026-11",
)

TPU_V6E = Chip(
    name="TPU v6e",
    vendor="Google",
    memory=32 * GB,
    device_memory=34.36 * GB,
    bandwidth=1.638 * TB,
    flops=_rates(bf16=918 * TFLOP, fp8=918 * TFLOP, int8=1836 * TFLOP),
    link_bandwidth=100 * GB,
    link_axes=2,
    fast_domain=256,
    slices=_TORUS_2D,
    price=2.70,
    price_source="Google Cloud list price us-central1, SkyPilot catalog gcp/vms.csv, 2026",
    source=f"{_GOOGLE}/v6e",
    date="2026-11",
)

TPU_IRONWOOD = Chip(
    name="TPU Ironwood",
    vendor="Google",
    memory=192 * GiB,  # so on the label
    device_memory=192 * GiB,
    bandwidth=7.38 * TB,
    flops=_rates(bf16=2307 * TFLOP, fp8=4614 * TFLOP),
    link_bandwidth=100 * GB,
    link_axes=3,
    fast_domain=9216,
    machine=4,
    slices=_TORUS_3D,
    price_source=_NO_PRICE,
    source=f"{_GOOGLE}/tpu7x; bandwidth as theregister.com, 7.4 TB/s",
    date="2026-11",
)

_TEXT = "constants of chapter 12 and of scaling-book parts 2 and 8, rounded and derated as printed there"
_TEXT_PRICE = "Google Cloud list price of 2025-02, as quoted in scaling-book part 8"

# The chapter's own rounded constants, so that its numbers can be checked to the digit.
H100_TEXT = replace(
    H100,
    name="H100 (text)",
    flops=_rates(bf16=990 * TFLOP, fp8=1980 * TFLOP, int8=1980 * TFLOP),
    price=10.8,
    price_source=_TEXT_PRICE,
    source=_TEXT,
    date="2025-08",
)

TPU_V5E_TEXT = replace(
    TPU_V5E,
    name="TPU v5e (text)",
    bandwidth=810 * GB,
    flops=_rates(bf16=197 * TFLOP, int8=394 * TFLOP),
    link_bandwidth=45 * GB,
    price=1.2,
    price_source=_TEXT_PRICE,
    source=_TEXT,
    date="2025-08",
)

TPU_V5P_TEXT = replace(
    TPU_V5P,
    name="TPU v5p (text)",
    link_bandwidth=90 * GB,
    price=4.2,
    price_source=_TEXT_PRICE,
    source=_TEXT,
    date="2025-08",
)

CATALOGUE: tuple[Chip, ...] = (
    *(H100, H200, GH200, H20, B200, GB200, A100, A100_40, L40S, L4, A10G, RTX_4090, RTX_5090),
    *(MI300X, MI325X, TPU_V5E, TPU_V5P, TPU_V6E, TPU_IRONWOOD),
)
