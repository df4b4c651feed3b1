"""Rows of `atoll get`: what the servers laid out, with the columns that only we can add.

Tables as a server gives them come in, with the place each came from; cells go out. CLUSTER comes
after the name and ADOPTION last, where members are looked at, as karmadactl has them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from atoll.cli.places import Place
from atoll.cli.tables import GAP, lines, padded, width
from atoll.client.collection import Collection

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

    def heading(self, definitions: Sequence[Mapping[str, Any]], kind: Collection) -> list[str]:
        names = [each["name"].upper() for each in definitions if self._has(each)]
        return self._framed(kind, ("NAMESPACE", "CLUSTER", "ADOPTION", "LABELS"), names)

    def cells(self, row: "Row", kind: Collection, prefix: str = "") -> list[str]:
        shown = [_text(row.cells[at]) for at, each in enumerate(row.definitions) if self._has(each)]
        shown[0] = prefix + shown[0]
        added = row.namespace, row.place.name, _adoption(row), _labels(row)
        return self._framed(kind, added, shown)

    def lines(self, rows: Sequence["Row"], kind: Collection, prefix: str = "") -> Iterator[str]:
        """The table of some rows, which are of one kind."""
        head = [self.heading(rows[0].definitions, kind)] if self.head else []
        return lines([*head, *(self.cells(each, kind, prefix) for each in rows)])

    def _framed(
        self, kind: Collection, added: tuple[str, str, str, str], shown: list[str]
    ) -> list[str]:
        """Cells with what is added before, between and after them, as far as it is wanted."""
        # Nobody adopts pods: whoever made them has charge of them.
        adoption = self.members and (self.wide or kind.plural != "pods")
        wanted = (self.everywhere and kind.namespaced, self.members, adoption, self.labels)
        space, cluster, adopted, labels = (
            [each] if is_wanted else [] for each, is_wanted in zip(added, wanted, strict=True)
        )
        return [*space, *shown[:1], *cluster, *shown[1:], *adopted, *labels]

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
