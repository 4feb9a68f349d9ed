"""What a record is: equal to one with the same values, fit to be a key, closed to changes, and picklable."""

import copy
import dataclasses
import inspect
import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scaling import chips, models
from scaling._records import Record
from scaling.chips import CATALOGUE, H100
from scaling.deployment import Deployment, Efficiency
from scaling.models import LLAMA3_70B
from tests.scaling.toys import MEASURED, TOY, TOY_CHIP, TOY_MODEL

NAN = math.nan
KNOWN = [
    value
    for module in (chips, models)
    for value in vars(module).values()
    if isinstance(value, (chips.Chip, models.Model))
]
RECORDS = [*KNOWN, TOY, TOY_CHIP, TOY_MODEL, MEASURED, replace(TOY_CHIP, price=NAN), replace(TOY, efficiency=MEASURED)]


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: f"{type(r).__name__}-{getattr(r, 'name', '')}")
def test_a_copy_is_equal_and_found(record: Any) -> None:
    for other in (replace(record), copy.copy(record), copy.deepcopy(record), pickle.loads(pickle.dumps(record))):
        assert other is not record and other == record and not other != record
        assert {record: "found"}[other] == "found"


def test_records_of_other_values_or_kinds_differ() -> None:
    assert len(set(KNOWN)) == len(KNOWN) > 12
    assert replace(H100, flops={**H100.flops, "bf16": 1.0}) != H100
    assert replace(TOY, kv_split="heads") != TOY != TOY_CHIP
    assert TOY != "toy" and TOY_MODEL != TOY_CHIP
    assert replace(TOY_CHIP, price=NAN) == replace(TOY_CHIP, price=float("nan")) != TOY_CHIP


def test_records_with_arrays_compare_by_their_numbers_and_are_no_keys() -> None:
    one, two = (replace(TOY, chips=np.array([1, 2])) for _ in range(2))
    assert one == two
    for other in ([1, 3], [1, 2, 3], [[1, 2]]):
        assert replace(TOY, chips=np.array(other)) != one
    assert one != TOY != one
    assert Efficiency(layer_seconds=np.array([0.5])) == Efficiency(layer_seconds=np.array([0.5]))
    with pytest.raises(TypeError, match="unhashable type"):
        hash(one)


def test_a_measured_term_in_the_cache_of_a_record_is_no_difference() -> None:
    other = replace(TOY)
    assert other.memory > 0 and other == replace(TOY)


@pytest.mark.parametrize("chip", CATALOGUE, ids=lambda chip: chip.name)
def test_the_rates_of_a_chip_cannot_be_changed(chip: chips.Chip) -> None:
    with pytest.raises(TypeError):
        chip.flops["bf16"] = 1.0  # type: ignore[index]
    for name in ("update", "pop", "clear", "setdefault", "popitem", "__delitem__", "__ior__"):
        assert not hasattr(chip.flops, name)
    assert dict(chip.flops) == dict(copy.deepcopy(chip.flops)) == dict(pickle.loads(pickle.dumps(chip.flops)))
    assert repr(chip.flops) == repr(dict(chip.flops))


def test_a_record_keeps_its_own_copy_of_what_it_was_given() -> None:
    rates, many = {"bf16": 7.0}, np.array([1, 2])
    chip, d = replace(TOY_CHIP, flops=rates), replace(TOY, chips=many)
    rates["bf16"], many[0] = -1.0, -1
    assert chip.rate("bf16") == 7 and d.chips[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        d.chips[0] = -1  # type: ignore[index]


@pytest.mark.parametrize("eight", [8, 16 / 2, np.float64(8), np.int8(8), np.array(8), np.array(8.0)], ids=repr)
def test_one_whole_number_is_an_int(eight: Any) -> None:
    chip = replace(TOY_CHIP, machine=eight, fast_domain=eight, link_axes=eight, slices=(eight,))
    for value in (replace(TOY, chips=eight).chips, chip.machine, chip.fast_domain, chip.link_axes, *chip.slices):
        assert value == 8 and type(value) is int
    assert repr(replace(TOY, chips=eight)) == repr(replace(TOY, chips=8))


@pytest.mark.parametrize("half", [np.float32(0.5), np.float64(0.5), np.array(0.5)], ids=repr)
def test_one_number_of_numpy_is_a_float(half: Any) -> None:
    d = replace(TOY, usable=half, reserve=half, efficiency=Efficiency(bandwidth=half, flops=half, links=half))
    chip = replace(TOY_CHIP, memory=half, price=half, flops={"bf16": half})
    e = d.efficiency
    for value in (d.usable, d.reserve, e.bandwidth, e.flops, e.links, chip.memory, chip.price, chip.flops["bf16"]):
        assert value == 0.5 and type(value) is float


def test_records_compare_through_what_they_hold() -> None:
    home = Deployment(model=LLAMA3_70B, chip=H100)
    assert home == Deployment(model=replace(LLAMA3_70B), chip=replace(H100))
    assert home != Deployment(model=LLAMA3_70B, chip=replace(H100, price=1.0))


# A dataclass to whoever asks -----------------------------------------------------------------------------------------


class Point(Record):
    x: int
    y: int = 2


class Deep(Point):
    z: float = NAN


def test_fields_come_from_the_bases_too_and_are_those_of_a_dataclass() -> None:
    assert repr(Point(x=1)) == "Point(x=1, y=2)" and repr(Deep(y=3, x=1)) == "Deep(x=1, y=3, z=nan)"
    for kind, names in ((Deep, "x y z"), (Point, "x y")):
        for _ in range(2):  # the first to ask makes them
            fields = dataclasses.fields(kind)
            assert " ".join(field.name for field in fields) == names and all(field.kw_only for field in fields)
    assert dataclasses.asdict(Point(x=1)) == {"x": 1, "y": 2}
    assert repr(Deep(x=1)) == "Deep(x=1, y=2, z=nan)" and Deep(x=1) == Deep(x=1) != Deep(x=1, z=0.0)


def test_other_ways_to_replace() -> None:
    for way in (replace, getattr(copy, "replace", replace), Point.__replace__):
        other = way(Point(x=1), y=5)
        assert other == Point(x=1, y=5) and type(other) is Point


def test_its_signature_says_its_fields() -> None:
    assert str(inspect.signature(Deep)) == "(*, x: int, y: int = 2, z: float = nan)"


def test_unknown_and_missing_fields_are_named() -> None:
    with pytest.raises(TypeError, match=r"^Point has no w, here 7, but only x, y\.$"):
        Point(x=1, w=7)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^Point has no w, here 7, but only x, y\.$"):
        replace(Point(x=1), w=7)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^Point must be given x\.$"):
        Point(y=1)  # type: ignore[call-arg]


def test_a_field_stays() -> None:
    point = Point(x=1)
    with pytest.raises(AttributeError, match=r"^Point\.x cannot be changed: dataclasses\.replace makes another one\.$"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match=r"^Point\.x cannot be changed"):
        del point.x
    assert point == Point(x=1)
