"""The question as columns of whole numbers: what is free, what is needed, who could give way.

Bindings, free resources and holdings come in; a `Scene` goes out, in which order no longer
matters and only those are in stock that may be taken. It does not choose.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter

from atoll.errors import Invalid
from atoll.model.amount import PODS
from atoll.model.binding import Binding
from atoll.model.cluster import Free
from atoll.model.demand import Demand
from atoll.scheduling.preemption.terms import Holding, Key, Need, Spread

NEGATIVE = "must not be negative"
LISTED_TWICE = "is listed twice; add the replicas up"

Vector = tuple[int, ...]
"""An amount of every resource of a scene, in their order."""


@dataclass(frozen=True, slots=True)
class Stock:
    """A holding that may be taken: its rank among the priorities, and what a replica gives."""

    holding: Holding
    key: Key
    level: int
    gives: Vector


@dataclass(frozen=True, slots=True)
class Ground:
    """A cluster the preemptor may use: at least and at most so many replicas, and the stock."""

    cluster: str
    free: Vector
    least: int
    most: int
    stock: tuple[Stock, ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """All there is to choose from. Grounds are sorted by cluster, their stock by binding."""

    preemptor: Binding
    missing: int
    resources: tuple[str, ...]
    demand: Vector
    free: Mapping[str, Vector]
    grounds: tuple[Ground, ...]
    levels: tuple[int, ...]
    """The priorities that may be taken, lowest first."""


def plus(left: Vector, right: Vector, times: int = 1) -> Vector:
    return tuple(a + times * b for a, b in zip(left, right, strict=True))


def fits(free: Vector, demand: Vector) -> int:
    """How many times the demand fits; what is not demanded may be short."""
    return max(0, min(f // d for f, d in zip(free, demand, strict=True) if d > 0))


def shortage(free: Vector, demand: Vector, replicas: int) -> Vector:
    """What so many replicas lack of each resource they demand."""
    return tuple(
        max(0, replicas * d - f) if d > 0 else 0 for f, d in zip(free, demand, strict=True)
    )


def reach(ground: Ground, demand: Vector, top: int) -> int:
    """How many replicas become possible if all stock up to a level is taken."""
    free = list(ground.free)
    for stock in ground.stock:
        if stock.level <= top:
            for resource, amount in enumerate(stock.gives):
                free[resource] += amount * stock.holding.replicas
    return min(ground.most, fits(tuple(free), demand))


def eligible(preemptor: Binding, holding: Holding) -> bool:
    """Only lower priorities give way, and only those whose policy lets them."""
    binding = holding.binding
    return binding.priority < preemptor.priority and binding.intent.preemption.may_be_preempted


def survey(
    preemptor: Binding, need: Need, free: Mapping[str, Free | None], holdings: Iterable[Holding]
) -> Scene:
    """The scene of a question, with all of the stock that may be taken."""
    bounds = _bounds(need)
    stock = [h for h in _checked(holdings) if h.cluster in bounds and eligible(preemptor, h)]
    # By identity: hashing a binding would cost more than all the rest.
    bindings = {id(binding): binding for binding in (preemptor, *(h.binding for h in stock))}
    demands = {ident: _per_replica(binding) for ident, binding in bindings.items()}
    resources = tuple(sorted({name for each in demands.values() for name in each}))
    gives = {key: tuple(each.get(name, 0) for name in resources) for key, each in demands.items()}
    vectors = {
        name: _free_vector(each, resources) for name, each in free.items() if each is not None
    }
    levels = tuple(sorted({h.binding.priority for h in stock}))
    kinds = {
        ident: (binding.key, bisect_left(levels, binding.priority), gives[ident])
        for ident, binding in bindings.items()
    }
    shelved: dict[str, list[Stock]] = {}
    for h in stock:
        shelved.setdefault(h.cluster, []).append(Stock(h, *kinds[id(h.binding)]))
    return Scene(
        preemptor=preemptor,
        missing=need.missing if isinstance(need, Spread) else sum(need.clusters.values()),
        resources=resources,
        demand=gives[id(preemptor)],
        free=vectors,
        grounds=tuple(
            Ground(name, vectors[name], *bounds[name], stock=_by_binding(shelved.get(name, ())))
            for name in sorted(bounds.keys() & vectors.keys())
        ),
        levels=levels,
    )


def narrowed(scene: Scene) -> Scene | None:
    """The scene without priorities that need not be touched; None if all are not enough."""

    def enough(top: int) -> bool:
        reached = [reach(ground, scene.demand, top) for ground in scene.grounds]
        return sum(reached) >= scene.missing and all(
            count >= ground.least for count, ground in zip(reached, scene.grounds, strict=True)
        )

    tops = range(-1, len(scene.levels))
    found = bisect_left(tops, True, key=enough)
    if found == len(tops):
        return None
    top = tops[found]
    return replace(
        scene,
        grounds=tuple(
            replace(
                ground,
                most=reach(ground, scene.demand, top),
                stock=tuple(stock for stock in ground.stock if stock.level <= top),
            )
            for ground in scene.grounds
        ),
    )


def _bounds(need: Need) -> dict[str, tuple[int, int]]:
    """The least and the most replicas of each cluster, of those that take any."""
    if isinstance(need, Spread):
        _whole("missing", need.missing)
        limits = {
            name: need.missing if most is None else _whole(f"clusters[{name}]", most)
            for name, most in need.clusters.items()
        }
        return {name: (0, min(most, need.missing)) for name, most in limits.items() if most > 0}
    counts = {name: _whole(f"clusters[{name}]", n) for name, n in need.clusters.items()}
    return {name: (n, n) for name, n in counts.items() if n > 0}


def _whole(field: str, count: int) -> int:
    if count < 0:
        raise Invalid(field, count, NEGATIVE)
    return count


def _checked(holdings: Iterable[Holding]) -> list[Holding]:
    """Those that run anything; each binding runs once per cluster."""
    keys: dict[int, Key] = {}
    seen: set[tuple[Key, str]] = set()
    running = []
    for holding in holdings:
        ident = id(holding.binding)
        key = keys.get(ident)
        if key is None:
            key = keys[ident] = holding.binding.key
        place = (key, holding.cluster)
        if place in seen or holding.replicas < 0:
            field = f"holdings[{'/'.join(key)}, {holding.cluster}].replicas"
            raise Invalid(field, holding.replicas, LISTED_TWICE if place in seen else NEGATIVE)
        seen.add(place)
        if holding.replicas:
            running.append(holding)
    return running


def _by_binding(stock: Iterable[Stock]) -> tuple[Stock, ...]:
    return tuple(sorted(stock, key=attrgetter("key")))


def _per_replica(binding: Binding) -> dict[str, int]:
    """What one replica demands; of a workload of several components, what one set demands."""
    if not binding.components:
        return _requests(binding, binding.demand, 1)
    total: dict[str, int] = {}
    for component in binding.components:
        for name, amount in _requests(binding, component.demand, component.replicas).items():
            total[name] = total.get(name, 0) + amount
    return total


def _requests(binding: Binding, demand: Demand | None, replicas: int) -> dict[str, int]:
    amounts = {PODS: replicas}
    for name, amount in demand.requests if demand else ():
        number = amount.in_its_unit(name)
        if number < 0:
            field = f"demand of {binding.resource}: {name}"
            raise Invalid(field, number, "a request must not be negative")
        if number and name != PODS:
            amounts[name] = number * replicas
    return amounts


def _free_vector(free: Free, resources: tuple[str, ...]) -> Vector:
    """What is free of each resource; what a cluster does not list it does not have."""
    return tuple(
        free.pods
        if name == PODS
        else free.resources[name].in_its_unit(name)
        if name in free.resources
        else 0
        for name in resources
    )
