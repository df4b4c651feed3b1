"""Tables for people: columns that line up on a terminal, whatever script the words are in.

Columns and rows of text come in, lines go out. What does not fit a terminal's width is left out
column by column, the least important first; whoever asks is told which. Nothing is printed here.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

GAP = "   "
FULL, EMPTY = "█", "░"


@dataclass(frozen=True, slots=True)
class Column:
    """A heading and how soon it may be left out: 0 never, the highest number first."""

    name: str
    spare: int = 0


def width(text: str) -> int:
    """How many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def padded(text: str, cells: int) -> str:
    return text + " " * (cells - width(text))


def lines(rows: Iterable[Sequence[str]], gap: str = GAP) -> Iterator[str]:
    """Rows of equally many cells, aligned, without spaces at the end."""
    listed = [[_one_line(cell) for cell in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(*listed, strict=True)]
    for row in listed:
        yield gap.join(map(padded, row, widths)).rstrip()


def fitting(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], most: int | None
) -> tuple[list[str], list[str]]:
    """The lines of a table no wider than so many cells, and the names of what was left out."""
    kept = list(range(len(columns)))
    while True:
        head = [columns[at].name for at in kept]
        found = list(lines([head, *([row[at] for at in kept] for row in rows)]))
        spare = [at for at in kept if columns[at].spare]
        if most is None or max(map(width, found)) <= most or not spare:
            return found, [each.name for at, each in enumerate(columns) if at not in kept]
        kept.remove(max(spare, key=lambda at: (columns[at].spare, at)))


def bar(part: float, whole: float, length: int) -> str:
    """How full something is, as a bar of so many cells; more than full is full."""
    share = min(max(part / whole, 0.0), 1.0) if whole > 0 else 0.0
    filled = round(share * length)
    if part > 0 and not filled:
        filled = 1  # a little is not nothing
    return FULL * filled + EMPTY * (length - filled)


def _cells(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Me", "Mn"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _one_line(text: str) -> str:
    """A cell without line ends and other control characters: they would break the table."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
