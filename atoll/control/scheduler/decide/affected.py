"""Which bindings must be looked at when a cluster changes.

A cluster as it was and as it is come in, with the bindings there are; those it may matter to come
out, as in Karmada: the affinity is tested with the old cluster and with the new one. We go further
than Karmada: a cluster that joins counts, one that is gone counts, and so do the APIs it serves and
its properties; its price counts for those who choose by price; tiers of overflow are looked at, and
terms after the observed one.
"""

from collections.abc import Iterable, Iterator
from enum import Enum

from atoll.dialects.karmada.standing import to_schedule
from atoll.model.action import Ref
from atoll.model.affinity import Term
from atoll.model.cluster import Cluster
from atoll.model.intent import Failback
from atoll.model.resource_binding import ResourceBinding
from atoll.model.standing import Standing
from atoll.scheduling.cycle import terms_from
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.matching import matching
from atoll.scheduling.traits import Traits, trait_facts


class Change(Enum):
    """How much a change of a cluster matters."""

    NONE = "none"
    ROOM = "room"  # there is more room: only who lacked room cares
    FACTS = "facts"


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
    bindings: Iterable[ResourceBinding], before: Cluster | None, after: Cluster | None
) -> list[Ref]:
    """The bindings that may be placed otherwise, now that a cluster changed so."""
    tested = [Fleet.of([each]).traits for each in (before, after) if each is not None]
    names = {each.name for each in (before, after) if each is not None}
    return [each.ref for each, found in _ours(bindings) if _is_affected(each, found, tested, names)]


def by_price(bindings: Iterable[ResourceBinding], clusters: Iterable[Cluster]) -> list[Ref]:
    """The bindings that choose by price, and may choose among these clusters."""
    fleet = Fleet.of(clusters)
    tested, names = [fleet.traits], {*fleet.rows}
    those = ((each, found) for each, found in _ours(bindings) if found.binding.intent.by_price)
    return [each.ref for each, found in those if _is_affected(each, found, tested, names)]


def _ours(bindings: Iterable[ResourceBinding]) -> Iterator[tuple[ResourceBinding, Standing]]:
    """The bindings that are ours to schedule and can be read."""
    for each in bindings:
        found = to_schedule(each)
        if isinstance(found, Standing):
            yield each, found


def _is_affected(
    seen: ResourceBinding, found: Standing, tested: list[Traits], names: set[str]
) -> bool:
    binding = found.binding
    terms = binding.intent.terms
    is_settled = seen.status.observed_generation == found.generation
    if not is_settled and any(term.name for term in terms):
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
