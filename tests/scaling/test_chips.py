import csv
import math
from dataclasses import fields, replace

import numpy as np
import pytest

from scaling import chips
from scaling.chips import CATALOGUE, H100, H100_TEXT, TPU_V5E, TPU_V5E_TEXT, TPU_V5P, TPU_V5P_TEXT, Chip
from tests.paths import DATA
from tests.scaling.toys import TOY_CHIP

with (DATA / "chips.csv").open(encoding="utf-8") as file:
    FACTS = {row["name"]: row for row in csv.DictReader(file)}

RATES = {"bf16": "bf16_dense_flops", "fp8": "fp8_dense_flops", "int8": "int8_dense_ops", "fp4": "fp4_dense_flops"}


@pytest.mark.parametrize("chip", CATALOGUE, ids=lambda chip: chip.name)
def test_catalogue_agrees_with_the_data_sheets(chip: Chip) -> None:
    assert chip.name in FACTS, f"add the row of {chip.name}, from its data sheet, to tests/data/chips.csv"
    fact = FACTS[chip.name]
    expected = {dtype: float(fact[column]) for dtype, column in RATES.items() if fact[column]}
    assert dict(chip.flops) == pytest.approx({**expected, "fp16": expected["bf16"]})
    assert chip.memory == pytest.approx(float(fact["hbm_bytes_marketing"]))
    assert chip.device_memory == pytest.approx(float(fact["hbm_bytes_device"]))
    assert chip.bandwidth == pytest.approx(float(fact["hbm_bw_bytes_per_s"]))
    assert chip.price == pytest.approx(float(fact["price_usd_per_chip_hour"] or "nan"), nan_ok=True)
    # The table gives a chip's links together, one way. A torus has two links an axis, one each way round.
    links_an_axis = 2 if "torus" in fact["interconnect"] else 1
    one_way = float(fact["interconnect_per_direction_bytes_per_s"])
    assert chip.link_bandwidth * chip.link_axes * links_an_axis == pytest.approx(one_way)


def test_catalogue_is_complete() -> None:
    """A chip without facts to check it against, or with facts but left out, would go unchecked."""
    gone = set(FACTS) - {chip.name for chip in CATALOGUE}
    assert not gone, f"tests/data/chips.csv has rows of chips that CATALOGUE of scaling/chips.py has not: {gone}"
    records = {value.name for value in vars(chips).values() if isinstance(value, Chip)}
    left = records - set(FACTS) - {H100_TEXT.name, TPU_V5E_TEXT.name, TPU_V5P_TEXT.name}
    assert not left, f"put {left} into CATALOGUE of scaling/chips.py, and a row each into tests/data/chips.csv"


@pytest.mark.parametrize("chip", [*CATALOGUE, H100_TEXT, TPU_V5E_TEXT, TPU_V5P_TEXT], ids=lambda chip: chip.name)
def test_every_entry_says_where_it_comes_from(chip: Chip) -> None:
    assert chip.source and chip.date and chip.price_source
    assert chip.device_memory >= chip.memory
    assert all(n <= chip.fast_domain for n in chip.slices)


@pytest.mark.parametrize(
    ("chip", "axes", "domain", "machine"),
    [
        (H100, 1, 8, 8),
        (chips.GB200, 1, 72, 4),
        (TPU_V5E, 2, 256, 8),
        (TPU_V5P, 3, 8960, 4),
        (chips.TPU_V6E, 2, 256, 8),
        *[(chips.GH200, 1, 1, 1), (chips.TPU_IRONWOOD, 3, 9216, 4)],
    ],
)
def test_topology(chip: Chip, axes: int, domain: int, machine: int) -> None:
    assert (chip.link_axes, chip.fast_domain, chip.machine) == (axes, domain, machine)


def test_slices() -> None:
    assert TPU_V5E.slices == chips.TPU_V6E.slices == (1, 4, 8, 16, 32, 64, 128, 256)
    assert TPU_V5P.slices == (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
    assert H100.slices == ()


def test_records_of_the_text() -> None:
    """The chapter's rounded constants. All else is the vendor's."""
    changed = {"name", "bandwidth", "flops", "link_bandwidth", "price", "price_source", "source", "date"}
    for text, vendor in ((H100_TEXT, H100), (TPU_V5E_TEXT, TPU_V5E), (TPU_V5P_TEXT, TPU_V5P)):
        same = {f.name for f in fields(Chip)} - changed
        assert {name: getattr(text, name) for name in same} == {name: getattr(vendor, name) for name in same}
    assert dict(H100_TEXT.flops) == {"bf16": 9.9e14, "fp16": 9.9e14, "fp8": 1.98e15, "int8": 1.98e15}
    assert (H100_TEXT.bandwidth, H100_TEXT.link_bandwidth, H100_TEXT.price) == (3.35e12, 450e9, 10.8)
    assert dict(TPU_V5E_TEXT.flops) == {"bf16": 1.97e14, "fp16": 1.97e14, "int8": 3.94e14}
    assert (TPU_V5E_TEXT.bandwidth, TPU_V5E_TEXT.link_bandwidth, TPU_V5E_TEXT.price) == (8.1e11, 45e9, 1.2)
    assert TPU_V5P_TEXT.rate("bf16") == 4.59e14
    assert (TPU_V5P_TEXT.bandwidth, TPU_V5P_TEXT.link_bandwidth, TPU_V5P_TEXT.price) == (2.765e12, 90e9, 4.2)


def test_rate() -> None:
    assert TOY_CHIP.rate("bf16") == 2003
    assert TOY_CHIP.rate("int8") == 4001


@pytest.mark.parametrize("bad", ["fp4", "int3", "", None, ["bf16"]])
def test_no_rate(bad: object) -> None:
    with pytest.raises(ValueError) as error:
        TOY_CHIP.rate(bad)  # type: ignore[arg-type]
    message = str(error.value)
    assert message.startswith("compute must be one of bf16, int8 on toy")
    assert repr(bad) in message


BAD_SIZES = [0, -1, math.nan, math.inf, -math.inf, "80 GB", None, True, [80]]
BAD_COUNTS = [0, -1, 2.5, math.nan, math.inf, "3", None, True, [3]]


@pytest.mark.parametrize("field", ["memory", "device_memory", "bandwidth", "link_bandwidth"])
@pytest.mark.parametrize("bad", BAD_SIZES)
def test_bad_size(field: str, bad: object) -> None:
    with pytest.raises(ValueError) as error:
        replace(TOY_CHIP, **{field: bad})
    assert str(error.value) == f"Chip.{field} must be a finite number above 0, not {bad!r}."


@pytest.mark.parametrize("field", ["link_axes", "fast_domain"])
@pytest.mark.parametrize("bad", BAD_COUNTS)
def test_bad_count(field: str, bad: object) -> None:
    with pytest.raises(ValueError, match=rf"^Chip.{field} must be a .*(of at least 1|above 0), not ") as error:
        replace(TOY_CHIP, **{field: bad})
    assert repr(bad) in str(error.value)


@pytest.mark.parametrize("bad", BAD_SIZES)
def test_bad_rate(bad: object) -> None:
    with pytest.raises(ValueError) as error:
        replace(TOY_CHIP, flops={"bf16": 1.0, "int8": bad})
    assert str(error.value) == f"Chip.flops['int8'] must be a finite number above 0, not {bad!r}."


@pytest.mark.parametrize("bad", [{}, 989e12, None, "bf16", [("bf16", 1.0)]])
def test_bad_rates(bad: object) -> None:
    with pytest.raises(ValueError, match=r"^Chip.flops must map a dtype to its dense FLOP/s, not ") as error:
        replace(TOY_CHIP, flops=bad)  # type: ignore[arg-type]
    assert repr(bad) in str(error.value)


@pytest.mark.parametrize("bad", ["int3", "sparse", 16])
def test_bad_dtype_of_a_rate(bad: object) -> None:
    with pytest.raises(ValueError, match=r"^Chip.flops must be one of fp32, bf16, .*, not ") as error:
        replace(TOY_CHIP, flops={"bf16": 1.0, bad: 1.0})  # type: ignore[dict-item]
    assert repr(bad) in str(error.value)


@pytest.mark.parametrize("bad", [-1, -0.01, math.inf, -math.inf, "2 USD", None, True, [2]])
def test_bad_price(bad: object) -> None:
    with pytest.raises(ValueError, match=r"^Chip.price must be a .* of at least 0, not ") as error:
        replace(TOY_CHIP, price=bad)  # type: ignore[arg-type]
    assert repr(bad) in str(error.value)


def test_price_may_be_zero_or_unknown() -> None:
    assert replace(TOY_CHIP, price=0).price == 0
    assert math.isnan(
        Chip(
            name="x", vendor="other", memory=2, device_memory=3, bandwidth=5, flops={"bf16": 7}, link_bandwidth=11
        ).price
    )


@pytest.mark.parametrize("bad", [(0,), (4, -8), (2.5,), ("4",), (True,), 8, "8", None])
def test_bad_slices(bad: object) -> None:
    with pytest.raises(ValueError, match=r"^Chip.slices must be .*, not ") as error:
        replace(TOY_CHIP, slices=bad)  # type: ignore[arg-type]
    assert repr(bad[-1] if isinstance(bad, tuple) else bad) in str(error.value)


def test_frozen_and_by_keyword() -> None:
    with pytest.raises(AttributeError):
        TOY_CHIP.memory = 1.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        Chip("toy")  # type: ignore[call-arg]


def test_a_rate_is_one_number() -> None:
    with pytest.raises(ValueError, match=r"Chip\.flops\['bf16'\] must be a single number, not array"):
        replace(H100, flops={"bf16": np.array([1e15, 2e15])})


@pytest.mark.parametrize("axes", [2 + 0j, np.True_, np.array([1, 2]), 1.5, 4, 0, "1"])
def test_axes_that_are_no_whole_number_of_the_chip_are_refused(axes: object) -> None:
    with pytest.raises(ValueError, match="axes must be a whole number from 1 to 3 on TPU v5p, not"):
        TPU_V5P.axes(axes)  # type: ignore[arg-type]
