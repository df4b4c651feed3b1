"""Who gives way: stories as tables, and laws against a search through every possible plan."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.errors import Invalid
from atoll.model.amount import Amount
from atoll.model.binding import Binding, Resource, Target
from atoll.model.cluster import Free
from atoll.model.demand import Component, Demand
from atoll.model.intent import Intent, Preemption
from atoll.scheduling.preemption import (
    Cost,
    Each,
    Fate,
    Holding,
    Limits,
    Plan,
    Proof,
    Refusal,
    Spread,
    Victim,
    preempt,
)

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


def key(name: str) -> tuple[str, str]:
    return ("shop", f"{name}-deployment")


def victim(name: str, cluster: str, replicas: int, priority: int, to: str | None = None) -> Victim:
    return Victim(key(name), cluster, replicas, priority, to)


STORIES = [
    pytest.param(
        work("train", 100, gpu=4),
        Spread(1, {"m1": None, "m2": None}),
        {"m1": room(gpu=1), "m2": room(gpu=0)},
        [
            Holding(work("notebook", 10, gpu=1), "m1", 6),
            Holding(work("batch", 10, gpu=4), "m2", 2),
        ],
        Plan(
            (Target("m2", 1),),
            (victim("batch", "m2", 1, 10),),
            Cost(((10, 1),), stopped=1, bindings=1),
        ),
        id="short of gpus: one batch job stops instead of three notebooks",
    ),
    pytest.param(
        work("cache", 50, memory=8),
        Spread(2, {"m1": None}),
        {"m1": room(memory=2, cpu=64)},
        [
            Holding(work("spinner", 1, cpu=8), "m1", 9),
            Holding(work("index", 7, memory=6), "m1", 2),
            Holding(work("logs", 3, memory=4), "m1", 2),
        ],
        Plan(
            (Target("m1", 2),),
            (victim("index", "m1", 1, 7), victim("logs", "m1", 2, 3)),
            Cost(((7, 1), (3, 2)), stopped=3, bindings=2),
        ),
        id="short of memory: who frees only cpu stays, and the higher priority gives least",
    ),
    pytest.param(
        work("api", 50, cpu=2),
        Spread(2, {"m1": None}),
        {"m1": room(), "m2": room(cpu=3), "m3": room(cpu=1)},
        [Holding(work("web", 1, cpu=2), "m1", 4, ("m3", "m2", "gone"))],
        Plan(
            (Target("m1", 2),),
            (victim("web", "m1", 1, 1, "m2"), victim("web", "m1", 1, 1)),
            Cost(((1, 2),), stopped=1, bindings=1),
        ),
        id="moved instead of stopped, as far as there is room",
    ),
    pytest.param(
        work("api", 50, cpu=2),
        Spread(1, {"m1": None}),
        {"m1": room(), "m2": room(cpu=2)},
        [
            Holding(work("a-stuck", 1, cpu=2), "m1", 1),
            Holding(work("b-mobile", 1, cpu=2), "m1", 1, ("m2",)),
        ],
        Plan(
            (Target("m1", 1),),
            (victim("b-mobile", "m1", 1, 1, "m2"),),
            Cost(((1, 1),), stopped=0, bindings=1),
        ),
        id="of equals the one that can move gives way",
    ),
    pytest.param(
        work("api", 50, cpu=2),
        Spread(2, {"m1": None, "m2": None}),
        {"m1": room(), "m2": room(), "m3": room(cpu=2)},
        [
            Holding(work("x", 1, cpu=2), "m1", 1, ("m3",)),
            Holding(work("y", 1, cpu=2), "m2", 1, ("m3",)),
        ],
        Plan(
            (Target("m1", 1), Target("m2", 1)),
            (victim("x", "m1", 1, 1, "m3"), victim("y", "m2", 1, 1)),
            Cost(((1, 2),), stopped=1, bindings=2),
        ),
        id="two victims never rely on the same room",
    ),
    pytest.param(
        work("api", 50, cpu=3),
        Spread(3, {"m1": None, "m2": None}),
        {"m1": room(cpu=3), "m2": room()},
        [
            Holding(work("big", 1, cpu=9), "m2", 1),
            Holding(work("late", 1, cpu=3), "m1", 1, ("m2",)),
        ],
        Plan(
            (Target("m1", 1), Target("m2", 2)),
            (victim("big", "m2", 1, 1),),
            Cost(((1, 1),), stopped=1, bindings=1),
        ),
        id="what is free is used before more than one gives way",
    ),
    pytest.param(
        work("agent", 50, cpu=1),
        Each({"m1": 2, "m2": 2, "m3": 0}),
        {"m1": room(cpu=2), "m2": room(cpu=0)},
        [Holding(work("web", 1, cpu=1), "m1", 5), Holding(work("web", 1, cpu=1), "m2", 5)],
        Plan(
            (Target("m1", 2), Target("m2", 2)),
            (victim("web", "m2", 2, 1),),
            Cost(((1, 2),), stopped=2, bindings=1),
        ),
        id="duplicated work needs its replicas in each cluster",
    ),
    pytest.param(
        work("many", 50),
        Spread(3, {"m1": 2, "m2": 2}),
        {"m1": room(pods=0), "m2": room(pods=1)},
        [Holding(work("web", 1, cpu=1), name, 5) for name in ("m1", "m2")],
        Plan(
            (Target("m1", 2), Target("m2", 1)),
            (victim("web", "m1", 2, 1),),
            Cost(((1, 2),), stopped=2, bindings=1),
        ),
        id="short of pod slots, within the limits of each cluster",
    ),
    pytest.param(
        work("api", 50, cpu=1),
        Spread(2, {"m1": None}),
        {"m1": room(cpu=5, memory=-3)},
        [Holding(work("web", 1, cpu=1), "m1", 5)],
        Plan((Target("m1", 2),)),
        id="fits as it is, and what it does not ask for may be overdrawn",
    ),
    pytest.param(
        work("api", 50, cpu=2),
        Spread(1, {"m1": None, "m2": None}),
        {"m1": room(), "m2": room(), "m3": room(cpu=2)},
        [
            Holding(work("stuck", 1, cpu=2), "m1", 1),
            Holding(work("mobile", 1, cpu=2), "m2", 1, ("m3",)),
        ],
        Plan(
            (Target("m2", 1),),
            (victim("mobile", "m2", 1, 1, "m3"),),
            Cost(((1, 1),), stopped=0, bindings=1),
        ),
        id="of equal clusters the one whose victim can move",
    ),
    pytest.param(
        work("api", 50, cpu=2),
        Spread(1, {"m1": None}),
        {"m1": room()},
        [Holding(work("a", 1, cpu=2), "m1", 1), Holding(work("b", 1, cpu=9), "m1", 1)],
        Plan(
            (Target("m1", 1),),
            (victim("a", "m1", 1, 1),),
            Cost(((1, 1),), stopped=1, bindings=1),
        ),
        id="of equals the first by name, even if another frees more",
    ),
    pytest.param(
        work("api", 50, cpu=1),
        Spread(2, {"m1": None, "m2": None, "m3": None}),
        {"m1": room(), "m2": room(), "m3": room()},
        [
            Holding(work("a", 1, cpu=1), "m1", 1),
            Holding(work("b", 1, cpu=1), "m2", 1),
            Holding(work("b", 1, cpu=1), "m3", 1),
        ],
        Plan(
            (Target("m2", 1), Target("m3", 1)),
            (victim("b", "m2", 1, 1), victim("b", "m3", 1, 1)),
            Cost(((1, 2),), stopped=2, bindings=1),
        ),
        id="one binding is disturbed rather than two",
    ),
    pytest.param(
        work("api", 50, cpu=4, memory=4),
        Spread(1, {"m1": None}),
        {"m1": room()},
        [
            Holding(work("a-memory", 2, cpu=1, memory=3), "m1", 1),
            Holding(work("b-cpu", 2, cpu=3, memory=2), "m1", 1),
            Holding(work("l", 1, memory=1), "m1", 3),
            Holding(work("m", 1, cpu=3), "m1", 1),
        ],
        Plan(
            (Target("m1", 1),),
            (victim("a-memory", "m1", 1, 2), victim("l", "m1", 1, 1), victim("m", "m1", 1, 1)),
            Cost(((2, 1), (1, 2)), stopped=3, bindings=3),
        ),
        id="short of two: the high one is taken that spares most of the low",
    ),
    pytest.param(
        work("api", 50, cpu=3, memory=3),
        Spread(1, {"m1": None, "m2": None}),
        {"m1": room(), "m2": room()},
        [
            Holding(work("cpus", 1, cpu=2), "m1", 5),
            Holding(work("mems", 1, memory=2), "m1", 5),
            Holding(work("both", 1, cpu=1, memory=1), "m2", 2),
            Holding(work("rest", 1, cpu=1), "m2", 1),
            Holding(work("free", 0, memory=1), "m2", 1),
        ],
        Plan(
            (Target("m2", 1),),
            (
                victim("both", "m2", 2, 1),
                victim("free", "m2", 1, 0),
                victim("rest", "m2", 1, 1),
            ),
            Cost(((1, 3), (0, 1)), stopped=4, bindings=3),
        ),
        id="short of two: a cluster that seems cheaper and is not",
    ),
]


@pytest.mark.parametrize(("preemptor", "need", "free", "holdings", "plan"), STORIES)
def test_the_right_ones_give_way(
    preemptor: Binding,
    need: Spread | Each,
    free: dict[str, Free | None],
    holdings: list[Holding],
    plan: Plan,
) -> None:
    assert preempt(preemptor, need, free, holdings) == plan


REFUSALS = [
    pytest.param(
        work("polite", 50, may_preempt=False, cpu=1),
        Spread(4, {"m1": None}),
        [Holding(work("web", 1, cpu=1), "m1", 9)],
        "0 of 4 missing replicas can be made to fit: "
        "the policy of Deployment shop/polite does not let it preempt others",
        id="its own policy refuses",
    ),
    pytest.param(
        work("api", 50, cpu=1),
        Spread(4, {"m1": None, "m2": None, "m3": None, "m4": None, "m5": None}),
        [
            Holding(work("same", 50, cpu=1), "m1", 9),
            Holding(work("more", 51, cpu=1), "m2", 9),
            Holding(work("shy", 1, may_be_preempted=False, cpu=1), "m3", 9),
        ],
        "0 of 4 missing replicas can be made to fit: 1 cluster(s) reported no free resources, "
        "1 cluster(s) run lower priorities only that may not be preempted, "
        "1 cluster(s) run nothing that could give way, "
        "2 cluster(s) run only equal or higher priority",
        id="equal, higher and protected work stays",
    ),
    pytest.param(
        work("api", 50, cpu=2, gpu=1),
        Spread(4, {"m1": None, "m2": 1, "m3": 0}),
        [
            Holding(work("web", 1, cpu=2, gpu=1), "m1", 1),
            Holding(work("web", 1, cpu=2, gpu=1), "m2", 3),
        ],
        "2 of 4 missing replicas can be made to fit: "
        "1 cluster(s) already run the most replicas allowed there, "
        f"1 cluster(s) lack cpu and {GPU} even without all lower priorities, "
        "1 cluster(s) would take the most replicas allowed there",
        id="too small and limited",
    ),
    pytest.param(
        work("agent", 50, cpu=1),
        Each({"m1": 1, "m5": 1}),
        [Holding(work("web", 1, cpu=1), "m1", 9)],
        "1 of 2 missing replicas can be made to fit: 1 cluster(s) reported no free resources",
        id="one of the duplicates cannot be placed",
    ),
    pytest.param(
        work("api", 50, cpu=1),
        Spread(1, {}),
        [],
        "0 of 1 missing replicas can be made to fit: no cluster is feasible",
        id="nowhere to go",
    ),
]


@pytest.mark.parametrize(("preemptor", "need", "holdings", "reason"), REFUSALS)
def test_a_refusal_says_what_is_in_the_way(
    preemptor: Binding, need: Spread | Each, holdings: list[Holding], reason: str
) -> None:
    free = {name: room() for name in ("m1", "m2", "m3", "m4")}
    assert preempt(preemptor, need, free, holdings) == Refusal(reason)


def test_a_victim_is_told_for_whom_it_leaves_and_where_it_goes() -> None:
    web = work("web", 1, cpu=2)
    plan = preempt(
        work("api", 50, cpu=2),
        Spread(3, {"m1": None, "m4": None}),
        {"m1": room(), "m2": room(cpu=2), "m4": room()},
        [Holding(web, "m1", 2, ("m2",)), Holding(work("own", 1, cpu=2), "m4", 1)],
    )
    assert isinstance(plan, Plan)
    assert [(each.fate, each.reason) for each in plan.victims] == [
        (
            Fate.MOVE,
            "Deployment shop/web (priority 1) gives way to Deployment shop/api (priority 50), "
            "which lacks cpu in m1; moved to m2, which has room",
        ),
        (
            Fate.STOP,
            "Deployment shop/web (priority 1) gives way to Deployment shop/api (priority 50), "
            "which lacks cpu in m1; stopped, as no other cluster has room for it",
        ),
        (
            Fate.STOP,
            "Deployment shop/own (priority 1) gives way to Deployment shop/api (priority 50), "
            "which lacks cpu in m4; stopped, as it may run nowhere else",
        ),
    ]
    assert plan.cost.replicas == 3


def test_nothing_missing_needs_no_plan() -> None:
    holdings = [Holding(work("web", 1, cpu=1), "m1", 3)]
    assert preempt(work("api", 9, cpu=1), Spread(0, {"m1": None}), {}, holdings) == Plan()


def test_a_set_of_components_is_counted_as_one() -> None:
    ray = Binding(
        resource=Resource(DEPLOYMENT, "shop", "ray"),
        intent=Intent(),
        priority=9,
        components=(
            Component("head", 1, Demand((("cpu", Amount(1000)),))),
            Component("worker", 3, Demand((("cpu", Amount(2000)),))),
        ),
    )
    plan = preempt(
        ray, Spread(1, {"m1": None}), {"m1": room(3)}, [Holding(work("web", cpu=1), "m1", 9)]
    )
    assert isinstance(plan, Plan)
    assert plan.cost == Cost(((0, 7),), stopped=7, bindings=1)


WEB = work("web", 1, cpu=1)
MISTAKES = [
    pytest.param(Spread(-1, {}), [], "missing: -1: must not be negative", id="missing"),
    pytest.param(Spread(1, {"m1": -2}), [], "clusters[m1]: -2: must not be negative", id="limit"),
    pytest.param(
        Spread(1, {"m1": 1}),
        [Holding(WEB, "m1", -3)],
        "holdings[shop/web-deployment, m1].replicas: -3: must not be negative",
        id="holding",
    ),
    pytest.param(
        Spread(1, {"m1": 1}),
        [Holding(WEB, "m1", 1), Holding(WEB, "m1", 2)],
        "holdings[shop/web-deployment, m1].replicas: 2: is listed twice; add the replicas up",
        id="listed twice",
    ),
    pytest.param(
        Spread(1, {"m1": 1}),
        [Holding(work("odd", 1, cpu=-1), "m1", 1)],
        "demand of Deployment shop/odd: cpu: -1000: a request must not be negative",
        id="negative request",
    ),
]


@pytest.mark.parametrize(("need", "holdings", "message"), MISTAKES)
def test_bad_input_is_named(need: Spread, holdings: list[Holding], message: str) -> None:
    with pytest.raises(Invalid) as failure:
        preempt(work("api", 50, cpu=1), need, {"m1": room()}, holdings)
    assert str(failure.value) == message


# A world small enough to look at every plan.

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
            stopped = sum(each.replicas for each in victims if each.fate is Fate.STOP)
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


@settings(max_examples=250, deadline=None)
@given(questions())
def test_no_plan_of_all_is_better(question: Question) -> None:
    answer = preempt(*question)
    best = best_of_all(question)
    assert answer == best if best else isinstance(answer, Refusal)


# Larger worlds, and searches cut short: what must hold of every plan.

LIMITS = [
    pytest.param(Limits(), id="as usual"),
    pytest.param(Limits(cover=0), id="no fronts"),
    pytest.param(Limits(steps=0), id="no combining"),
    pytest.param(Limits(steps=8), id="hardly any combining"),
    pytest.param(Limits(ties=0), id="no ties"),
    pytest.param(Limits(cover=1, steps=0, ties=1), id="nothing"),
]


def placed(need: Spread | Each) -> int:
    return need.missing if isinstance(need, Spread) else sum(need.clusters.values())


def victims_of(question: Question, plan: Plan) -> Left:
    """The holdings that leave, and how many of each; all of them run where the plan says."""
    held = {(h.binding.key, h.cluster): h for h in question[3]}
    sums: dict[tuple[tuple[str, str], str], int] = {}
    for each in plan.victims:
        place = (each.binding, each.cluster)
        assert each.replicas > 0
        assert each.priority == held[place].binding.priority
        assert each.to is None or each.to in held[place].elsewhere
        sums[place] = sums.get(place, 0) + each.replicas
    assert all(n <= held[place].replicas for place, n in sums.items())
    return [(held[place], n) for place, n in sums.items()]


@pytest.mark.parametrize("limits", LIMITS)
@settings(max_examples=50, deadline=None)
@given(question=questions(most=4))
def test_a_plan_is_sound_however_little_was_searched(question: Question, limits: Limits) -> None:
    preemptor, need, free, _ = question
    plan = preempt(*question, limits)
    if isinstance(plan, Refusal):
        assert not departures(question)
        return
    left = victims_of(question, plan)
    assert all(may_leave(preemptor, holding) for holding, _ in left)
    takes = dict(plan.takes)
    assert sum(takes.values()) == placed(need)
    assert takes in [{name: n for name, n in split.items() if n} for split in splits(need)]
    assert fits(question, takes, left)
    world = World(free)
    for name, n in takes.items():
        world.change(name, preemptor, -n)
    for each in plan.victims:
        world.change(each.cluster, held_by(question, each), each.replicas)
        if each.to is not None:
            world.change(each.to, held_by(question, each), -each.replicas)
    assert all(world.holds(e.to, held_by(question, e)) for e in plan.victims if e.to is not None)
    stopped = sum(each.replicas for each in plan.victims if each.fate is Fate.STOP)
    assert plan.cost == Cost(by_priority(left), stopped, len({e.binding for e in plan.victims}))


def held_by(question: Question, victim: Victim) -> Binding:
    return next(h.binding for h in question[3] if h.binding.key == victim.binding)


@pytest.mark.parametrize("limits", LIMITS)
@settings(max_examples=50, deadline=None)
@given(question=questions(most=4))
def test_no_victim_can_be_dropped(question: Question, limits: Limits) -> None:
    plan = preempt(*question, limits)
    left = victims_of(question, plan) if isinstance(plan, Plan) else []
    for holding, n in left:
        rest = [each for each in left if each[0] is not holding] + [(holding, n - 1)]
        assert not any(fits(question, takes, rest) for takes in splits(question[1]))


@pytest.mark.parametrize("limits", LIMITS)
@settings(max_examples=30, deadline=None)
@given(question=questions(most=4))
def test_a_plan_is_not_called_better_than_it_is(question: Question, limits: Limits) -> None:
    plan, best = preempt(*question, limits), best_of_all(question)
    if isinstance(plan, Plan) and best is not None:
        assert plan.cost >= best.cost
        assert not plan.exact or plan == best
        assert plan.proof is Proof.GREEDY or plan.cost.by_priority == best.cost.by_priority


@settings(max_examples=100, deadline=None)
@given(questions(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(question: Question, chance: Random) -> None:
    preemptor, need, free, holdings = question
    shuffled = [
        Holding(
            h.binding, h.cluster, h.replicas, tuple(chance.sample(h.elsewhere, len(h.elsewhere)))
        )
        for h in chance.sample(holdings, len(holdings))
    ]
    clusters = dict(chance.sample(list(need.clusters.items()), len(need.clusters)))
    frees = dict(chance.sample(list(free.items()), len(free)))
    again = preempt(preemptor, replace(need, clusters=clusters), frees, shuffled)
    assert again == preempt(*question)


@settings(max_examples=60, deadline=None)
@given(questions())
def test_work_that_may_not_preempt_is_refused(question: Question) -> None:
    preemptor, need, free, holdings = question
    shy = replace(preemptor, intent=Intent(preemption=Preemption(may_preempt=False)))
    answer = preempt(shy, need, free, holdings)
    assert isinstance(answer, Refusal) if placed(need) else answer == Plan()
