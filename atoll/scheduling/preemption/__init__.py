"""Who gives way when work of a higher priority does not fit.

A preemptor, what it is missing, what is free and who runs where come in; a `Plan` goes out, or a
`Refusal` in words. Nothing is done about it here. A plan, in this order,
  1. places all that is missing;
  2. takes the lowest priorities: the fewest replicas of the highest one, then of the next, and so
     on, which is also the fewest replicas in all of those priorities;
  3. stops as few as possible: those that fit elsewhere are moved;
  4. touches the fewest bindings;
  5. prefers the first clusters, then bindings, then destinations by name.
Only lower priorities are taken, and only if neither policy objects. Each cluster's cheapest sets
(covering), then how clusters share the missing replicas (combining), then ties (choosing). All
searches are bounded; `Plan.proof` says what is proven. No victim of any plan can be dropped.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from atoll.model.binding import Binding, Target
from atoll.model.cluster import Free
from atoll.scheduling.preemption import wording
from atoll.scheduling.preemption.choosing import Choice, choose, settle
from atoll.scheduling.preemption.combining import one_by_one, ways
from atoll.scheduling.preemption.covering import covers
from atoll.scheduling.preemption.giving_back import give_back
from atoll.scheduling.preemption.scene import Scene, narrowed, survey
from atoll.scheduling.preemption.searching import Purse
from atoll.scheduling.preemption.terms import (
    Cost,
    Each,
    Holding,
    Limits,
    Need,
    Plan,
    Proof,
    Refusal,
    Spread,
    Victim,
)

__all__ = [
    "Cost",
    "Each",
    "Holding",
    "Limits",
    "Plan",
    "Proof",
    "Refusal",
    "Spread",
    "Victim",
    "preempt",
]

USUAL = Limits()


def preempt(
    preemptor: Binding,
    need: Need,
    free: Mapping[str, Free | None],
    holdings: Iterable[Holding],
    limits: Limits = USUAL,
) -> Plan | Refusal:
    """The plan by which the missing replicas fit, or why there is none.

    `free` is of every cluster that the preemptor needs or a holding could go to; a cluster
    without one is not used. The holdings are of those clusters, each binding once per cluster.
    """
    holdings = tuple(holdings)
    scene = survey(preemptor, need, free, holdings)
    if not scene.missing:
        return Plan()
    if not preemptor.intent.preemption.may_preempt:
        return Refusal(wording.will_not(preemptor, scene.missing))
    unknown = isinstance(need, Each) and any(
        n and name not in scene.free for name, n in need.clusters.items()
    )
    narrow = None if unknown else narrowed(scene)
    if narrow is None:
        return Refusal(wording.cannot(scene, need, holdings))
    return _plan(narrow, *_chosen(narrow, limits))


def _chosen(scene: Scene, limits: Limits) -> tuple[Choice, Proof]:
    known = covers(scene, limits)
    found = ways(scene, known, limits)
    if found:
        choice = choose(scene, known, found, limits)
        return choice, Proof.BEST if choice.finished and found.whole else Proof.FEWEST
    takes = one_by_one(scene, known)
    shares = give_back(scene, [row[n].picks for row, n in zip(known.table, takes, strict=True)])
    return settle(scene, shares, Purse(limits.ties)), Proof.GREEDY


def _plan(scene: Scene, choice: Choice, proof: Proof) -> Plan:
    victims = tuple(_victims(scene, choice))
    counts = Counter[int]()
    for victim in victims:
        counts[victim.priority] += victim.replicas
    stopped, bindings = choice.harm
    return Plan(
        takes=tuple(Target(name, n) for name, n in sorted(choice.takes.items())),
        victims=victims,
        cost=Cost(tuple(sorted(counts.items(), reverse=True)), stopped, bindings),
        proof=proof,
    )


def _victims(scene: Scene, choice: Choice) -> Iterable[Victim]:
    """By cluster and binding: those moved, by destination, then those stopped."""
    for at, leaving in enumerate(choice.leaving):
        holding = leaving.stock.holding
        binding = holding.binding
        fates = [(move.to, move.replicas) for move in choice.moves if move.leaving == at]
        stopped = leaving.replicas - sum(n for _, n in fates)
        for to, n in (*fates, (None, stopped)):
            if n:
                takes = choice.takes[holding.cluster]
                why = wording.gives_way(scene, leaving, takes, to)
                yield Victim(leaving.stock.key, holding.cluster, n, binding.priority, to, why)
