"""Preemption in words for users: why someone gives way, and why nobody could.

A scene and its holdings come in, sentences go out. It decides nothing.
"""

from collections import Counter
from collections.abc import Iterable

from atoll.model.binding import Binding
from atoll.scheduling.preemption.moving import Leaving
from atoll.scheduling.preemption.scene import Ground, Scene, eligible, fits, plus, reach, shortage
from atoll.scheduling.preemption.terms import Holding, Need, Spread


def gives_way(scene: Scene, leaving: Leaving, takes: int, to: str | None) -> str:
    """Why these replicas leave, and what becomes of them."""
    holding, winner = leaving.stock.holding, scene.preemptor
    lacking = shortage(scene.free[holding.cluster], scene.demand, takes)
    return (
        f"{holding.binding.resource} (priority {holding.binding.priority}) gives way to "
        f"{winner.resource} (priority {winner.priority}), which lacks "
        f"{_named(scene, lacking)} in {holding.cluster}; {_fate(holding, to)}"
    )


def will_not(preemptor: Binding, missing: int) -> str:
    return (
        f"{_headline(0, missing)}: the policy of {preemptor.resource} "
        "does not let it preempt others"
    )


def cannot(scene: Scene, need: Need, holdings: Iterable[Holding]) -> str:
    """How far it would go if all lower priorities gave way, and what is in the way beyond that."""
    top = len(scene.levels)
    reached = {ground.cluster: reach(ground, scene.demand, top) for ground in scene.grounds}
    wanted = {name: n for name, n in need.clusters.items() if n is None or n > 0}
    running: dict[str, list[Holding]] = {}
    for holding in holdings:
        if holding.replicas:
            running.setdefault(holding.cluster, []).append(holding)
    grounds = {ground.cluster: ground for ground in scene.grounds}
    reasons = Counter(
        _reason(scene, grounds[name], running.get(name, []))
        if name in grounds
        else "reported no free resources"
        for name in sorted(wanted)
        if reached.get(name, 0) < _enough(need, name)
    )
    reasons["already run the most replicas allowed there"] = len(need.clusters) - len(wanted)
    reasons["would take the most replicas allowed there"] = sum(
        n == reached.get(name, 0) < scene.missing
        for name, n in wanted.items()
        if isinstance(need, Spread)
    )
    told = [f"{n} cluster(s) {reason}" for reason, n in sorted(reasons.items()) if n]
    possible = min(sum(reached.values()), scene.missing)
    return f"{_headline(possible, scene.missing)}: {', '.join(told) or 'no cluster is feasible'}"


def _headline(possible: int, missing: int) -> str:
    return f"{possible} of {missing} missing replicas can be made to fit"


def _enough(need: Need, name: str) -> int:
    """Replicas with which a cluster has done its part."""
    if isinstance(need, Spread):
        limit = need.clusters[name]
        return need.missing if limit is None else min(limit, need.missing)
    return need.clusters[name]


def _reason(scene: Scene, ground: Ground, running: list[Holding]) -> str:
    if any(eligible(scene.preemptor, holding) for holding in running):
        free = ground.free
        for stock in ground.stock:
            free = plus(free, stock.gives, stock.holding.replicas)
        lacking = shortage(free, scene.demand, fits(free, scene.demand) + 1)
        return f"lack {_named(scene, lacking)} even without all lower priorities"
    if any(holding.binding.priority < scene.preemptor.priority for holding in running):
        return "run lower priorities only that may not be preempted"
    if running:
        return "run only equal or higher priority"
    return "run nothing that could give way"


def _fate(holding: Holding, to: str | None) -> str:
    if to is not None:
        return f"moved to {to}, which has room"
    if holding.elsewhere:
        return "stopped, as no other cluster has room for it"
    return "stopped, as it may run nowhere else"


def _named(scene: Scene, amounts: tuple[int, ...]) -> str:
    names = [name for name, amount in zip(scene.resources, amounts, strict=True) if amount > 0]
    return " and ".join(names)
