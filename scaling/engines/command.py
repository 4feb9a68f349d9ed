"""A launch command as data: its arguments, the reason for each flag, and text that any shell takes as it is."""

import re
import shlex
import textwrap
from dataclasses import dataclass
from typing import NamedTuple

from scaling._checks import shown

_WIDTH = 79
# A shell that knows no comments when it is typed into (zsh, as it comes) must still pass over a comment unharmed.
_UNSAFE_IN_COMMENT = re.compile(r"[^\w .,:%/+-]")


class Option(NamedTuple):
    """One flag (or one bare argument), its value if it takes one, and why it is there."""

    flag: str
    value: str | None = None
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Command:
    """What to type to start an engine.

    `engine`, `version`, `date`: whose flags these are, and when that version's flags were current.
    `program`: what comes first; `options`: every flag with its reason; `notes`: what the flags do not say.

    ``print(command)`` shows comment lines and the command below them; ``subprocess.run(command.arguments)`` runs it.

    Raises ``ValueError`` for an argument that is empty or holds a control character, such as a line break.
    """

    engine: str
    version: str
    date: str
    program: tuple[str, ...]
    options: tuple[Option, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for argument in self.arguments:
            plain_text("an argument", argument)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The argument list, as a program gets it."""
        words = [word for option in self.options for word in option[:2] if word is not None]
        return (*self.program, *words)

    @property
    def flags(self) -> dict[str, str | None]:
        """Each flag with its value; None for a flag that takes none."""
        return {option.flag: option.value for option in self.options if option.flag.startswith("-")}

    @property
    def reasons(self) -> tuple[tuple[str, str], ...]:
        """Each option that has a reason, with it."""
        return tuple((option.flag, option.why) for option in self.options if option.why)

    @property
    def line(self) -> str:
        """The command on one line, quoted for sh, bash and zsh."""
        return " ".join(map(_quoted, self.arguments))

    @property
    def shell(self) -> str:
        """Comment lines, then the command, one option a line. Nothing follows a backslash, not even a blank."""
        head = f"{self.engine} {self.version}, flags as of {self.date}"
        said = [f"{' '.join(filter(None, option[:2]))}: {option.why}" for option in self.options if option.why]
        comments = [line for text in (head, *said, *self.notes) for line in _comment(text)]
        rows = [self.program, *(tuple(filter(None, option[:2])) for option in self.options)]
        command = " \\\n  ".join(" ".join(map(_quoted, row)) for row in rows)
        return "\n".join([*comments, command])

    def __str__(self) -> str:
        return self.shell


def _quoted(word: str) -> str:
    # zsh reads a leading = as "where is this program".
    return f"'{word}'" if word.startswith("=") and shlex.quote(word) == word else shlex.quote(word)


def _comment(text: str) -> list[str]:
    plain = " ".join(_UNSAFE_IN_COMMENT.sub(" ", text).split())
    return textwrap.wrap(plain, _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_long_words=False)


def plain_text(name: str, value: str) -> str:
    """`value` unchanged if a shell can be given it: text, not empty, without control characters.

    Raises ``ValueError`` that names the argument, the value given and what is allowed.
    """
    if isinstance(value, str) and value and value.isprintable():
        return value
    raise ValueError(f"{name} must be text without line breaks or other control characters, not {shown(value)}.")
