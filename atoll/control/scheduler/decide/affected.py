"""Which bindings must be looked at when a cluster changes.

A cluster as it was and as it is come in, with the bindings there are; those it may matter to come
out, as in Karmada: the affinity is tested with the old cluster and with the new one. We go further
than Karmada: a cluster that joins counts, one that is gone counts, and so do the APIs it serves and
its properties; its price counts for those who choose by price; tiers of overflow are looked at, and
terms after the observed one.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from atoll.dialects.karmada.standing import (
    DEFAULT_SCHEDULER,
    OBSERVED_GENERATION,
    is_placed_by,
    standing,
)
from atoll.errors import Invalid
from atoll.model.action import Object
from atoll.model.affinity import Term
from atoll.model.binding import Binding
from atoll.model.cluster import Cluster
from atoll.model.intent import Failback
from atoll.scheduling.cycle import terms_from
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.matching import matching
from atoll.scheduling.traits import Traits, trait_facts

K = TypeVar("K", bound=Hashable)


class Change(Enum):
    """How much a change of a cluster matters."""

    NONE = "none"
    ROOM = "room"  # there is more room: only who lacked room cares
    FACTS = "facts"


@dataclass(frozen=True, slots=True)
class Watching(Generic[K]):
    """A binding that clusters may matter to.

    `settled`: its last decision is about its present spec.
    """

    key: K
    binding: Binding
    settled: bool = True


def watched(key: K, wire: Object, scheduler: str = DEFAULT_SCHEDULER) -> Watching[K] | None:
    """A binding as one that clusters may matter to; None if it is not ours or cannot be read."""
    try:
        if not is_placed_by(wire, scheduler):
            return None
        found = standing(wire)
    except Invalid:
        return None
    settled = (wire.get("status") or {}).get(OBSERVED_GENERATION) == found.generation
    return Watching(key, found.binding, settled)


def change(before: Cluster | None, after: Cluster | None) -> Change:
    """How much it matters that a cluster changed so; None: it was not there, or is no more.

    Whatever it costs: see `by_price`.
    """
    if before is None or after is None:
        return Change.NONE if before is after else Change.FACTS
    if _facts(before) != _facts(after):
        return Change.FACTS
    return Change.ROOM if _has_more_room(before, after) else Change.NONE


def affected(
    watching: Iterable[Watching[K]], before: Cluster | None, after: Cluster | None
) -> list[K]:
    """The keys of bindings that may be placed otherwise, now that a cluster changed so."""
    tested = [Fleet.of([each]).traits for each in (before, after) if each is not None]
    names = {each.name for each in (before, after) if each is not None}
    return [each.key for each in watching if _is_affected(each, tested, names)]


def by_price(watching: Iterable[Watching[K]], clusters: Iterable[Cluster]) -> list[K]:
    """The keys of bindings that choose by price, and may choose among these clusters."""
    fleet = Fleet.of(clusters)
    those = (each for each in watching if each.binding.intent.by_price)
    return [each.key for each in those if _is_affected(each, [fleet.traits], {*fleet.rows})]


def _is_affected(watching: Watching[K], tested: list[Traits], names: set[str]) -> bool:
    binding = watching.binding
    terms = binding.intent.terms
    if not watching.settled and any(term.name for term in terms):
        return True  # which term it will be decided by is not known yet
    if any(target.name in names for target in binding.targets):
        return True
    intent = binding.intent
    ahead = range(len(terms)) if intent.failback is not Failback.NEVER else terms_from(binding)
    wanted = [terms[place] for place in ahead]
    return any(_meets(term, traits) for term in wanted for traits in tested)


def _meets(term: Term, traits: Traits) -> bool:
    return any(matching(each, traits).any() for each in (term.affinity, *term.overflow))


def _facts(cluster: Cluster) -> tuple[object, ...]:
    return trait_facts(cluster), cluster.grades


def _has_more_room(before: Cluster, after: Cluster) -> bool:
    if before.free is None or after.free is None:
        return after.free is not None
    had, has = before.free.resources, after.free.resources
    return after.free.pods > before.free.pods or any(
        name not in had or has[name].milli > had[name].milli for name in has
    )
