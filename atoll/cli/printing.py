"""What the user reads: data on stdout, everything else on stderr, colour only where it is welcome.

Colour never carries a meaning of its own. Where the terminal's encoding has no such characters,
plain ones stand in.
"""

import os
import sys
from typing import TextIO

from atoll.errors import AtollError

_PLAIN = str.maketrans(
    {"✓": "+", "·": "-", "…": ".", "–": "-", "×": "x", "≈": "~", "→": "->", "≠": "!="}
    | {"█": "#", "░": "."}
)
_COLOURS = {"red": 31, "green": 32}


class CannotWrite(AtollError):
    """The answer has nowhere to go: the disk is full, for example."""


def show(text: str) -> None:
    """Print a line of the answer; CannotWrite if that is in vain, but for a reader who left."""
    try:
        _print(text, sys.stdout)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CannotWrite(f"cannot write the answer: {error.strerror}") from error


def tell(text: str) -> None:
    """Print a line about what is going on."""
    _print(text, sys.stderr)


def tell_error(text: str) -> None:
    _print(f"{_coloured('error:', 'red', sys.stderr)} {text}", sys.stderr)


def done(what: str, detail: str) -> str:
    """A step that is behind us."""
    return f" {_coloured('✓', 'green', sys.stderr)} {what:<12} {detail}"


def _print(text: str, stream: TextIO) -> None:
    try:
        text.encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        text = text.translate(_PLAIN).encode("ascii", "replace").decode()
    print(text, file=stream, flush=True)


def _coloured(text: str, colour: str, stream: TextIO) -> str:
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if _wants_colour(stream) else text


def _wants_colour(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("CLICOLOR_FORCE", "0") != "0":
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def size(count: int) -> str:
    """A number of bytes, in the unit people would use."""
    return f"{count / 1_000_000:.0f} MB" if count >= 1_000_000 else f"{count / 1000:.0f} kB"


def seconds(span: float) -> str:
    """A span of time, as exact as anyone wants to know it."""
    if span < 60:
        return f"{span:.1f} s"
    minutes = int(span) // 60
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // 1440} d"
