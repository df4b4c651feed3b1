"""Room for work of a higher priority: who gives way, and the decision that is then possible.

A decision that found no room, and all bindings, come in; a decision that has room and who makes it
come out, or in words why nobody does. First the fewest are found that would have to go; then the
binding is decided anew as if they were gone, so that all its policy says holds; then those that
this decision needs are found. Only work counts whose division looks at room: other work would be
put back where it was. Who gives way is chosen by `scheduling.preemption`; nothing is written here.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from atoll.control.scheduler.decide.preempting.holding import Holder, holders_of
from atoll.control.scheduler.decide.preempting.room import Amounts, less, more, needed, reported
from atoll.dialects.karmada.preemption_notes import PREEMPTS, Part, has
from atoll.model.binding import Binding
from atoll.model.cluster import Free
from atoll.model.decision import Verdict
from atoll.model.resource_binding import ResourceBinding
from atoll.scheduling.candidates import Candidates
from atoll.scheduling.capacity import Capacity
from atoll.scheduling.cycle import decide
from atoll.scheduling.decision import Attempt, Decision
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.preemption import Each, Holding, Plan, Refusal, Spread, Victim, preempt

Key = tuple[str, str]
_NO_PLAN = "no plan keeps to all that the policy says"
_IN_DOUBT = "clusters have yet to report whether there is room"


@dataclass(frozen=True, slots=True, eq=False)
class Others:
    """All bindings, and the clusters of which it is in doubt how much room they have.

    There, work may be counted twice that was placed a moment ago: nobody gives way for it.
    """

    bindings: Sequence[ResourceBinding]
    in_doubt: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """The decision that is possible once these have given way."""

    decision: Decision
    gives: tuple[Part, ...]


def wants_preemption(seen: ResourceBinding, decision: Decision) -> bool:
    """Whether a binding found no room, and wants others to give way; once it is under way, not."""
    binding = decision.binding
    return (
        decision.verdict is Verdict.UNSCHEDULABLE
        and binding.intent.preemption.may_preempt
        and decision.setting.features.PriorityBasedScheduling
        and not binding.components
        and not has(seen.wire, PREEMPTS)
    )


def make_room(seen: ResourceBinding, decision: Decision, others: Others) -> Room | Refusal:
    """Who of the others gives way to a binding, and what is then decided; or why nobody does."""
    if others.in_doubt and _without(decision, others.in_doubt).ok:
        return Refusal(_IN_DOUBT)
    short = [each for each in map(_lacking_room, decision.attempts) if each is not None]
    usable = {name for each in short for name in decision.fleet.names_of(each.rows)}
    usable -= others.in_doubt
    able = holders_of(decision, others.bindings, usable)
    holders = {each.binding.key: each for each in able}
    refusals = []
    for candidates in short:
        found = _room_in(candidates, decision, holders, others.in_doubt)
        if isinstance(found, Refusal):
            refusals.append(found)
            continue
        again, victims = found
        return Room(again, tuple(_parts(victims, holders, seen.meta.version)))
    return refusals[0] if refusals else Refusal(_NO_PLAN)


def _lacking_room(attempt: Attempt) -> Candidates | None:
    """The clusters of a term that would do with more room; None if that is not what is missing."""
    refusal = attempt.refusal
    lacks = refusal is not None and refusal.verdict is Verdict.UNSCHEDULABLE
    return attempt.candidates if lacks else None


def _room_in(
    candidates: Candidates,
    decision: Decision,
    holders: Mapping[Key, Holder],
    in_doubt: frozenset[str],
) -> tuple[Decision, Sequence[Victim]] | Refusal:
    """Make room in the clusters of one term."""
    binding, runs = decision.binding, dict(decision.binding.targets)
    names = decision.fleet.names_of(candidates.rows)
    missing = binding.replicas - sum(runs.get(each, 0) for each in names)
    if missing <= 0:
        return Refusal(_NO_PLAN)
    estimates = zip(names, candidates.allocatable.tolist(), strict=True)
    allocatable = {name: room for name, room in estimates if name not in in_doubt}
    free = _free(decision, allocatable, holders)
    holdings = [
        Holding(each.binding, cluster, replicas, tuple(n for n in each.elsewhere if n != cluster))
        for each in holders.values()
        for cluster, replicas in each.runs.items()
        if cluster in allocatable
    ]
    fewest = preempt(binding, Spread(missing, dict.fromkeys(allocatable)), free, holdings)
    if isinstance(fewest, Refusal):
        return fewest
    everyone = [(each.binding, each.cluster, each.replicas) for each in holdings]
    those = [
        (holders[each.binding].binding, each.cluster, each.replicas) for each in fewest.victims
    ]
    for gone in (those, everyone):
        again = _decided(decision, free, gone)
        if again is None:
            continue
        grown = {name: n - runs.get(name, 0) for name, n in again.targets if n > runs.get(name, 0)}
        there = [each for each in holdings if each.cluster in grown]
        exact = preempt(binding, Each(grown), free, there)
        if isinstance(exact, Plan) and exact.victims:
            return again, exact.victims
    return Refusal(_NO_PLAN)


def _without(decision: Decision, in_doubt: frozenset[str]) -> Decision:
    """What is decided if nothing is assumed in these clusters."""
    around = decision.surroundings
    assumed = tuple(each for each in around.assumed if each.cluster not in in_doubt)
    surroundings = replace(around, assumed=assumed)
    return decide(decision.binding, decision.fleet, decision.setting, surroundings)


def _decided(
    decision: Decision, free: Mapping[str, Free | None], gone: list[tuple[Binding, str, int]]
) -> Decision | None:
    """What is decided where these replicas are gone; None if that is no decision either."""
    fleet, around = decision.fleet, decision.surroundings
    room = {cluster: free[cluster] for _, cluster, _ in gone}
    for binding, cluster, replicas in gone:
        known = room[cluster]
        room[cluster] = known and more(known, needed(binding.demand, replicas))
    # What is said of nodes and by estimators counts no longer where room is made: what they
    # allow is in what is free already.
    clusters = tuple(
        replace(each, free=room[each.name], nodes_by_grade=()) if each.name in room else each
        for each in fleet.clusters
    )
    surroundings = replace(
        around,
        assumed=tuple(each for each in around.assumed if each.cluster not in room),
        estimates={
            source: {name: n for name, n in answers.items() if name not in room}
            for source, answers in around.estimates.items()
        },
        nodes=around.nodes and around.nodes.without(room),
    )
    emptier = Fleet(clusters, fleet.traits, Capacity.of(clusters))
    again = decide(decision.binding, emptier, decision.setting, surroundings)
    return again if again.ok else None


def _free(
    decision: Decision, allocatable: Mapping[str, int], holders: Mapping[Key, Holder]
) -> dict[str, Free | None]:
    """What is free where the binding may go, and where those who give way could go instead."""
    taken = dict[str, list[Amounts]]()
    if decision.setting.features.SchedulingOvercommitProtection:
        for each in decision.surroundings.assumed:
            amounts = [needed(one.demand, one.replicas) for one in each.components]
            taken.setdefault(each.cluster, []).extend(amounts)
    names = {*allocatable, *(name for each in holders.values() for name in each.elsewhere)}
    fleet, demand = decision.fleet, decision.binding.demand
    found = dict[str, Free | None]()
    for name in names:
        free = fleet.clusters[fleet.rows[name]].free
        if free is not None:
            free = less(free, taken.get(name, ()))
            free = reported(free, demand, allocatable[name]) if name in allocatable else free
        found[name] = free
    return found


def _parts(
    victims: Iterable[Victim], holders: Mapping[Key, Holder], version: str
) -> Iterator[Part]:
    """Who gives up how many where; whether they find another place is for later to see."""
    given = Counter[tuple[Key, str]]()
    for each in victims:
        given[each.binding, each.cluster] += each.replicas
    for (key, cluster), replicas in given.items():
        seen = holders[key].seen
        yield Part(seen.ref, seen.meta.uid, cluster, replicas, version)
