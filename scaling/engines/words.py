"""Words and numbers as the launch commands say them, and texts that a shell and a program can be given."""

import os
from typing import Any

from scaling._checks import shown
from scaling.units import GB, ms


def in_ms(seconds: float) -> str:
    """Seconds in milliseconds, for a reason."""
    return f"{seconds / ms:.3g} ms"


def gb(size: float) -> str:
    """Bytes in decimal gigabytes, for a reason."""
    return f"{size / GB:,.0f} GB" if size >= 99.5 * GB else f"{size / GB:.3g} GB"


def plain_text(name: str, value: Any) -> str:
    """`value`, a text or a path, as text, if a shell can be given it: not empty, without control characters.

    Raises ``ValueError`` that names the argument, the value given and what is allowed.
    """
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if isinstance(text, str) and text and text.isprintable():
        return text
    raise ValueError(f"{name} must be text without line breaks or other control characters, not {shown(value)}.")


def no_flag(name: str, value: Any) -> str:
    """`value` as text, if a program does not read it as one of its flags.

    Raises ``ValueError`` for one that starts with a hyphen, and for control characters.
    """
    text = plain_text(name, value)
    if text.startswith("-"):
        raise ValueError(f"{name} must not start with a hyphen, which a program reads as a flag, not {shown(text)}.")
    return text
