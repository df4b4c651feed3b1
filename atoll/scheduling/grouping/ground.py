"""The candidates of a pick, laid out for choosing: in order, with their groups, quotas and room.

A place is a cluster's number in that order. Only clusters that can be taken at all have one: those
with a value for every key they are spread by, and, where there are quotas, that match one. A
cluster of several zones is in the first that it names.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from atoll.errors import Invalid
from atoll.model.intent import Field, Pick
from atoll.scheduling.candidates import Candidates
from atoll.scheduling.columns import Mask, Numbers
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.matching import matching
from atoll.scheduling.sharing import usable
from atoll.scheduling.traits import Traits

NO_GROUP = -1


@dataclass(frozen=True, slots=True)
class Lot:
    """Clusters that the rules cannot tell apart: their group by each rule, the quotas they match,
    and the least they must be given if it is more than one; their places, in order."""

    groups: tuple[int, ...]
    quotas: tuple[int, ...]
    least: int
    places: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Ground:
    """By place: position among the candidates, groups (by rule), quotas matched, and limits."""

    positions: Numbers
    groups: tuple[Numbers, ...]
    quotas: tuple[Mask, ...]
    least: Numbers
    most: Numbers
    needed: int
    """Replicas that those taken together must have room for."""
    held: int = 0
    """The first so many places hold the work already, and are to be kept."""

    def __len__(self) -> int:
        return len(self.positions)

    @cached_property
    def lots(self) -> list[Lot]:
        """All places by lot, in an order in which few groups are begun and not finished."""
        found: dict[tuple[tuple[int, ...], tuple[int, ...], int], list[int]] = {}
        columns = [each.tolist() for each in self.groups]
        quotas, least = [each.tolist() for each in self.quotas], self.least.tolist()
        for place in range(len(self)):
            groups = tuple(column[place] for column in columns)
            matched = tuple(i for i, mask in enumerate(quotas) if mask[place])
            # Nothing or at least one is no more than any number.
            bound = least[place] if least[place] > 1 else 0
            found.setdefault((groups, matched, bound), []).append(place)
        return _close_together([Lot(*key, tuple(places)) for key, places in found.items()])

    @cached_property
    def by_room(self) -> list[int]:
        """All places, the roomiest first."""
        return list(map(int, np.argsort(-self.most, kind="stable")))

    def reordered(self, places: list[int], held: int) -> "Ground":
        """The same ground with these places in this order, the first of them to be kept."""
        return Ground(
            self.positions[places],
            tuple(each[places] for each in self.groups),
            tuple(each[places] for each in self.quotas),
            self.least[places],
            self.most[places],
            self.needed,
            held,
        )

    def sizes(self, rule: int) -> Numbers:
        """The sizes of the groups of a rule, for those that have any cluster."""
        return np.unique(self.groups[rule], return_counts=True)[1]

    def holds(self, places: list[int]) -> bool:
        """Whether these clusters can take the replicas."""
        return usable(self.needed, self.least[places], self.most[places])[0] == self.needed


def _close_together(lots: list[Lot]) -> list[Lot]:
    """By group of the rule that has most; those that lie within groups of others by these."""
    rules = range(len(lots[0].groups)) if lots else range(0)
    coarse_first = sorted(rules, key=lambda rule: len({lot.groups[rule] for lot in lots}))
    if not coarse_first:
        return lots
    finest, within = coarse_first[-1], dict[int, list[int]]()
    for lot in lots:
        others = [lot.groups[rule] for rule in coarse_first]
        known = within.get(lot.groups[finest], others)
        within[lot.groups[finest]] = [min(pair) for pair in zip(known, others, strict=True)]
    return sorted(
        lots, key=lambda lot: (within[lot.groups[finest]], lot.groups[finest], lot.places)
    )


def group_codes(key: str, traits: Traits) -> tuple[Numbers, list[str]]:
    """The group of every cluster by a key, or `NO_GROUP`, and the names of the groups."""
    return traits.remember(("groups", key), lambda: _group_codes(key, traits))


def _group_codes(key: str, traits: Traits) -> tuple[Numbers, list[str]]:
    values = _values(key, traits)
    names = sorted({value for value in values if value is not None})
    code = {name: i for i, name in enumerate(names)}
    codes = [NO_GROUP if value is None else code[value] for value in values]
    return np.array(codes, np.int64), names


def _values(key: str, traits: Traits) -> list[str | None]:
    kind, _, of = key.partition(":")
    match kind:
        case Field.ZONE:
            zones = [value[0] if value else None for value in traits.zones.values]
            return [zones[code] for code in traits.zones.codes.tolist()]
        case Field.REGION | Field.PROVIDER:
            column = traits.region if kind == Field.REGION else traits.provider
            return [column.values[code] or None for code in column.codes.tolist()]
        case "label" | "property":
            columns = traits.labels if kind == "label" else traits.properties
            found = columns.get(of)
            if found is None:
                return [None] * len(traits.names)
            return [found.values[code] for code in found.codes.tolist()]
    problem = "must be zone, region, provider, label:KEY or property:KEY"
    raise Invalid("selection.groups.key", key, problem)


def can_be_taken(pick: Pick, candidates: Candidates, fleet: Fleet) -> Mask:
    """The candidates that have a group by every key, and a quota where there are any."""
    able = np.ones(len(candidates), np.bool_)
    for each in pick.groups:
        able &= group_codes(each.key, fleet.traits)[0][candidates.rows] != NO_GROUP
    if pick.quotas:
        matched = [matching(each.affinity, fleet.traits)[candidates.rows] for each in pick.quotas]
        able &= np.logical_or.reduce(matched)
    return able
