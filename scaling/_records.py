"""What holds for every record: it is compared by value, and nothing in it changes."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from scaling._array import known, plain
from scaling._checks import shown

if TYPE_CHECKING:
    from typing import dataclass_transform
else:

    def dataclass_transform(**_):
        """Only who checks types asks for more."""
        return lambda kind: kind


Kind = TypeVar("Kind", bound="Record")


class _Fields:
    """The fields as `dataclasses` has them, once somebody asks: ``dataclasses.replace`` and ``fields`` do."""

    def __get__(self, record: Any, kind: Any) -> Any:
        from dataclasses import dataclass

        return dataclass(init=False, repr=False, eq=False, kw_only=True)(kind).__dataclass_fields__


class _Signature:
    """The fields as `help` and a notebook show them."""

    def __get__(self, record: Any, kind: Any) -> Any:
        from inspect import Parameter, Signature

        def field(name: str, annotation: Any) -> Parameter:
            default = kind._defaults.get(name, Parameter.empty)
            return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)

        return Signature([field(name, annotation) for name, annotation in kind._fields.items()])


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Record:
    """Base of the records: annotated fields, given by name, checked in ``__post_init__``, never changed afterwards.

    They are dataclasses to whoever asks, but not made by `dataclasses`: that loads `inspect`, and compiles methods for
    each class, which took a third of the time of ``import scaling``. And its comparing knows neither arrays nor NaN.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]
    __signature__: ClassVar[Any]
    _fields: ClassVar[dict[str, Any]] = {}
    _defaults: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        own = cls.__annotations__
        cls._fields = cls._fields | own
        cls._defaults = cls._defaults | {name: vars(cls)[name] for name in own if name in vars(cls)}
        cls.__dataclass_fields__, cls.__signature__ = _Fields(), _Signature()  # type: ignore[assignment]

    def __init__(self, **values: Any) -> None:
        kind, given = type(self).__name__, self._defaults | values
        for name, value in values.items():
            if name not in self._fields:
                raise TypeError(f"{kind} has no {name}, here {shown(value)}, but only {', '.join(self._fields)}.")
        if missing := [name for name in self._fields if name not in given]:
            raise TypeError(f"{kind} must be given {', '.join(missing)}.")
        # Past `__setattr__`, and in the order of the class.
        vars(self).update((name, _own(given[name])) for name in self._fields)
        self.__post_init__()

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be changed: dataclasses.replace makes another one.")

    def __delattr__(self, name: str) -> None:
        setattr(self, name, None)

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._fields)})"

    def __replace__(self: Kind, **changes: Any) -> Kind:
        return type(self)(**{name: getattr(self, name) for name in self._fields} | changes)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_same(getattr(self, name), getattr(other, name)) for name in self._fields)

    def __hash__(self) -> int:
        """As of the tuple of its fields, so a record with an array in it has none."""
        values = (getattr(self, name) for name in self._fields)
        # Since Python 3.10 each NaN has a hash of its own, and two records with one would be equal but not found.
        return hash(tuple(None if isinstance(value, float) and value != value else value for value in values))


def replace(record: Kind, **changes: Any) -> Kind:
    """``dataclasses.replace`` for the modules here, which do not wait for that module."""
    return record.__replace__(**changes)


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
