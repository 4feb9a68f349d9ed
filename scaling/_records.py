"""What holds for every record: it is compared by value, and nothing in it changes."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from scaling._array import known, plain


class Record:
    """Base of the frozen dataclasses. Their ``eq=False`` leaves comparing to it: it knows arrays and NaN."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __post_init__(self) -> None:
        """Keep what nobody else can change: see `_own`."""
        for name, value in vars(self).items():
            object.__setattr__(self, name, _own(value))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_same(getattr(self, name), getattr(other, name)) for name in self.__dataclass_fields__)

    def __hash__(self) -> int:
        """As of the tuple of its fields, so a record with an array in it has none."""
        values = (getattr(self, name) for name in self.__dataclass_fields__)
        # Since Python 3.10 each NaN has a hash of its own, and two records with one would be equal but not found.
        return hash(tuple(None if isinstance(value, float) and value != value else value for value in values))


def _own(value: Any) -> Any:
    """A single number of NumPy as Python's own, an array of numbers as a copy that is read only, the rest as it is."""
    if type(value) in (int, float, str, tuple, bool):
        return value  # nearly all; a catalogue of fifteen records is made on every import
    value = plain(known(value))
    if type(value).__module__ == "numpy" and hasattr(value, "setflags"):
        value = value.copy()
        value.setflags(write=False)
    return value


def _same(a: Any, b: Any) -> bool:
    """Whether two fields hold the same. NaN is the same as NaN: an unknown price is no difference between two chips."""
    if a is b:
        return True
    shape = getattr(a, "shape", None)
    if shape != getattr(b, "shape", None):
        return False
    equal = (a == b) | ((a != a) & (b != b))
    return bool(equal if shape is None else equal.all())


class Frozen(Mapping[str, Any]):
    """A mapping that nobody can change. ``MappingProxyType`` only hides the dictionary, and cannot be pickled."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return repr(self._values)
