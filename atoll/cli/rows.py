"""Rows of `atoll get`: what the servers laid out, with the columns that only we can add.

Tables as a server gives them come in, with the place each came from; cells go out. CLUSTER comes
after the name and ADOPTION last, where members are looked at, as karmadactl has them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from atoll.cli.places import Place
from atoll.cli.tables import GAP, lines, padded, width

NOTHING = "<none>"
_MANAGED = "karmada.io/managed"


@dataclass(frozen=True, slots=True)
class Rows:
    """Which columns a user wants to see."""

    everywhere: bool = False
    members: bool = False
    wide: bool = False
    labels: bool = False
    head: bool = True

    def heading(self, definitions: Sequence[Mapping[str, Any]], *, namespaced: bool) -> list[str]:
        names = [each["name"].upper() for each in self._seen(definitions)]
        first = ["NAMESPACE"] if self.everywhere and namespaced else []
        added = (["CLUSTER"], ["ADOPTION"]) if self.members else ([], [])
        last = ["LABELS"] if self.labels else []
        return [*first, *names[:1], *added[0], *names[1:], *added[1], *last]

    def cells(self, row: "Row", *, namespaced: bool, prefix: str = "") -> list[str]:
        shown = [_text(row.cells[at]) for at, each in enumerate(row.definitions) if self._has(each)]
        first = [row.namespace] if self.everywhere and namespaced else []
        added = ([row.place.name], [_adoption(row)]) if self.members else ([], [])
        last = [_labels(row)] if self.labels else []
        return [*first, prefix + shown[0], *added[0], *shown[1:], *added[1], *last]

    def lines(self, rows: Sequence["Row"], *, namespaced: bool, prefix: str = "") -> Iterator[str]:
        """The table of some rows, which are of one kind."""
        head = [self.heading(rows[0].definitions, namespaced=namespaced)] if self.head else []
        cells = (self.cells(each, namespaced=namespaced, prefix=prefix) for each in rows)
        return lines([*head, *cells])

    def _seen(self, definitions: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        return (each for each in definitions if self._has(each))

    def _has(self, definition: Mapping[str, Any]) -> bool:
        return self.wide or not definition.get("priority")


@dataclass(frozen=True, slots=True)
class Row:
    """One object in one place: its cells, and the object, or what of it there is."""

    place: Place
    definitions: Sequence[Mapping[str, Any]]
    cells: Sequence[Any]
    object: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.object["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.object["metadata"].get("namespace", ""))


@dataclass(slots=True)
class Widths:
    """Column widths that are found once and only grow, for rows that come one after the other."""

    cells: list[int] = field(default_factory=list)

    def line(self, row: Sequence[str]) -> str:
        wanted = [width(cell) for cell in row]
        known = self.cells or wanted
        self.cells = [max(pair) for pair in zip(known, wanted, strict=True)]
        return GAP.join(map(padded, row, self.cells)).rstrip()


def rows_of(place: Place, table: Mapping[str, Any]) -> list[Row]:
    """The rows of a Table that a server gave."""
    definitions = table.get("columnDefinitions") or ()
    return [
        Row(place, definitions, each["cells"], each.get("object") or {"metadata": {}})
        for each in table.get("rows") or ()
    ]


def _text(cell: object) -> str:
    if cell is None or cell == "":
        return NOTHING
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return str(cell)


def _adoption(row: Row) -> str:
    """Whether the plane has charge of an object in a member; of its own there is no question."""
    if not row.place.is_member:
        return "-"
    labels = row.object["metadata"].get("labels") or {}
    return "Y" if labels.get(_MANAGED) == "true" else "N"


def _labels(row: Row) -> str:
    labels = row.object["metadata"].get("labels") or {}
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or NOTHING
