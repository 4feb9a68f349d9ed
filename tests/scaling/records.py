"""What holds for every record of the package: nobody changes it, and nobody has to know the order of its fields."""

from dataclasses import fields
from typing import Any

import pytest


def check(record: Any) -> None:
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    for name, value in values.items():
        with pytest.raises(AttributeError, match="cannot"):
            setattr(record, name, value)
    with pytest.raises(TypeError, match="positional argument"):
        type(record)(*values.values())
