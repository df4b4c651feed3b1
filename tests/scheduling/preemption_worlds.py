"""Small worlds for preemption, and the best plan in them found by looking at every one."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import product

from hypothesis import strategies as st

from atoll.model.amount import Amount
from atoll.model.binding import Binding, Resource, Target
from atoll.model.cluster import Free
from atoll.model.demand import Demand
from atoll.model.intent import Intent, Preemption
from atoll.scheduling.preemption import Cost, Each, Holding, Plan, Spread, Victim

DEPLOYMENT = ("apps/v1", "Deployment")
GPU = "nvidia.com/gpu"


def amounts(given: Mapping[str, int]) -> dict[str, Amount]:
    return {name: Amount.of(Decimal(n)) for name, n in given.items()}


def work(
    name: str,
    priority: int = 0,
    *,
    may_preempt: bool = True,
    may_be_preempted: bool = True,
    **requests: int,
) -> Binding:
    named = {{"gpu": GPU}.get(key, key): n for key, n in requests.items()}
    return Binding(
        resource=Resource(DEPLOYMENT, "shop", name),
        intent=Intent(preemption=Preemption(may_preempt, may_be_preempted)),
        priority=priority,
        demand=Demand(tuple(sorted(amounts(named).items()))),
    )


def room(pods: int = 100, **resources: int) -> Free:
    return Free(amounts({{"gpu": GPU}.get(key, key): n for key, n in resources.items()}), pods)


RESOURCES = ("cpu", "memory")
CLUSTERS = ("m1", "m2", "m3")
Question = tuple[Binding, Spread | Each, dict[str, Free | None], tuple[Holding, ...]]


@st.composite
def questions(draw: st.DrawFn, most: int = 3) -> Question:
    """Clusters that are nearly full, mostly of lower priorities that may give way."""
    names = CLUSTERS[: draw(st.integers(1, 3))]

    def one(name: str, priorities: list[int]) -> Binding:
        may = draw(st.integers(0, 9)) != 9
        asks = {resource: draw(st.integers(0, 3)) for resource in RESOURCES}
        return work(name, draw(st.sampled_from(priorities)), may_be_preempted=may, **asks)

    preemptor = one("api", [3])
    others = [one(f"w{at}", [0, 1, 1, 2, 3]) for at in range(draw(st.integers(1, 3)))]
    holdings = [
        Holding(
            binding,
            name,
            draw(st.integers(1, 2)),
            tuple(draw(st.lists(st.sampled_from(CLUSTERS), max_size=2, unique=True))),
        )
        for binding in others
        for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
    ]
    amount = {name: st.integers(0, 2 if name in names else 6) for name in CLUSTERS}
    free: dict[str, Free | None] = {
        name: room(draw(amount[name]), cpu=draw(amount[name]) - 1, memory=draw(amount[name]))
        for name in CLUSTERS
    }
    need: Spread | Each
    if draw(st.integers(0, 3)):
        limit = st.none() | st.integers(0, most)
        need = Spread(draw(st.integers(0, most)), {name: draw(limit) for name in names})
    else:
        need = Each({name: draw(st.integers(0, 2)) for name in names})
    return preemptor, need, free, tuple(draw(st.permutations(holdings)))


def vector(binding: Binding) -> dict[str, int]:
    assert binding.demand is not None
    asked = {name: amount.in_its_unit(name) for name, amount in binding.demand.requests}
    return {name: n for name, n in {**asked, "pods": 1}.items() if n}


class World:
    """What is free, changed step by step: plain sums per cluster and resource."""

    def __init__(self, free: Mapping[str, Free | None]) -> None:
        self.free: dict[tuple[str, str], int] = {}
        for name, each in free.items():
            assert each is not None
            self.free[name, "pods"] = each.pods
            for resource, amount in each.resources.items():
                self.free[name, resource] = amount.in_its_unit(resource)

    def change(self, cluster: str, binding: Binding, replicas: int) -> None:
        for resource, amount in vector(binding).items():
            self.free[cluster, resource] = self.free.get((cluster, resource), 0) + replicas * amount

    def holds(self, cluster: str, binding: Binding) -> bool:
        return all(self.free.get((cluster, resource), 0) >= 0 for resource in vector(binding))


def counts(most: Iterable[int]) -> Iterator[tuple[int, ...]]:
    return product(*(range(n, -1, -1) for n in most))


def splits(need: Spread | Each) -> list[dict[str, int]]:
    """Every way to place all that is missing."""
    names = sorted(need.clusters)
    if isinstance(need, Each):
        return [{name: need.clusters[name] for name in names}]
    limits = [need.missing if (n := need.clusters[name]) is None else n for name in names]
    return [
        dict(zip(names, takes, strict=True))
        for takes in counts(limits)
        if sum(takes) == need.missing
    ]


def may_leave(preemptor: Binding, holding: Holding) -> bool:
    binding = holding.binding
    return binding.intent.preemption.may_be_preempted and binding.priority < preemptor.priority


def fits(question: Question, takes: Mapping[str, int], left: Iterable[tuple[Holding, int]]) -> bool:
    preemptor, _, free, _ = question
    world = World(free)
    for holding, n in left:
        world.change(holding.cluster, holding.binding, n)
    for name, n in takes.items():
        world.change(name, preemptor, -n)
    return all(world.holds(name, preemptor) for name, n in takes.items() if n)


def by_priority(left: Iterable[tuple[Holding, int]]) -> tuple[tuple[int, int], ...]:
    sums: dict[int, int] = {}
    for holding, n in left:
        if n:
            sums[holding.binding.priority] = sums.get(holding.binding.priority, 0) + n
    return tuple(sorted(sums.items(), reverse=True))


Left = list[tuple[Holding, int]]
Moves = list[dict[str, int]]


def departures(question: Question) -> list[tuple[dict[str, int], Left]]:
    """Every way to make room at the least cost by priority, those with first names first."""
    preemptor, need, _, holdings = question
    stock = sorted(
        (h for h in holdings if may_leave(preemptor, h)), key=lambda h: (h.cluster, h.binding.key)
    )
    able = [
        (takes, left)
        for takes in splits(need)
        for numbers in counts(h.replicas for h in stock)
        for left in [list(zip(stock, numbers, strict=True))]
        if fits(question, takes, left)
    ]
    least = min((by_priority(left) for _, left in able), default=())
    return [(takes, left) for takes, left in able if by_priority(left) == least]


def transfers(question: Question, takes: Mapping[str, int], left: Left) -> Iterator[Moves]:
    """Every way to move those that leave to where they find room."""
    preemptor, _, free, _ = question
    slots = [
        (at, name, n)
        for at, (holding, n) in enumerate(left)
        for name in sorted({*holding.elsewhere} - {holding.cluster})
    ]
    for numbers in counts(n for _, _, n in slots):
        moves: Moves = [{} for _ in left]
        for (at, name, _), n in zip(slots, numbers, strict=True):
            moves[at][name] = n
        if any(sum(m.values()) > n for m, (_, n) in zip(moves, left, strict=True)):
            continue
        world = World(free)
        for name, n in takes.items():
            world.change(name, preemptor, -n)
        for (holding, n), move in zip(left, moves, strict=True):
            world.change(holding.cluster, holding.binding, n)
            for name, moved in move.items():
                world.change(name, holding.binding, -moved)
        if all(
            world.holds(name, holding.binding)
            for (holding, _), move in zip(left, moves, strict=True)
            for name, moved in move.items()
            if moved
        ):
            yield moves


def best_of_all(question: Question) -> Plan | None:
    """The best plan of all, found by looking at every one of them."""
    found: list[tuple[tuple[int, int], object, Plan]] = []
    for takes, left in departures(question):
        for moves in transfers(question, takes, left):
            victims = []
            for (holding, n), move in zip(left, moves, strict=True):
                binding = holding.binding
                fates = [*move.items(), (None, n - sum(move.values()))]
                victims += [
                    Victim(binding.key, holding.cluster, count, binding.priority, to)
                    for to, count in fates
                    if count
                ]
            stopped = sum(each.replicas for each in victims if each.to is None)
            bindings = len({each.binding for each in victims})
            names = (
                [
                    (-takes[name], [-n for holding, n in left if holding.cluster == name])
                    for name in sorted(takes)
                ],
                [[-n for n in move.values()] for move in moves],
            )
            targets = tuple(Target(name, n) for name, n in sorted(takes.items()) if n)
            cost = Cost(by_priority(left), stopped, bindings)
            found.append(((stopped, bindings), names, Plan(targets, tuple(victims), cost)))
    return min(found, key=lambda each: each[:2])[2] if found else None
