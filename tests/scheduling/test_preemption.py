"""Who gives way, as stories: each plan, refusal and mistake in the words users see."""

import pytest
from preemption_worlds import DEPLOYMENT, GPU, room, work

from atoll.errors import Invalid
from atoll.model.amount import Amount
from atoll.model.binding import Binding, Resource, Target
from atoll.model.cluster import Free
from atoll.model.demand import Component, Demand
from atoll.model.intent import Intent, Preemption
from atoll.scheduling.preemption import (
    Cost,
    Each,
    Holding,
    Plan,
    Refusal,
    Spread,
    Victim,
    preempt,
)


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
    assert [(each.to, each.reason) for each in plan.victims] == [
        (
            "m2",
            "Deployment shop/web (priority 1) gives way to Deployment shop/api (priority 50), "
            "which lacks cpu in m1; moved to m2, which has room",
        ),
        (
            None,
            "Deployment shop/web (priority 1) gives way to Deployment shop/api (priority 50), "
            "which lacks cpu in m1; stopped, as no other cluster has room for it",
        ),
        (
            None,
            "Deployment shop/own (priority 1) gives way to Deployment shop/api (priority 50), "
            "which lacks cpu in m4; stopped, as it may run nowhere else",
        ),
    ]
    assert sum(each.replicas for each in plan.victims) == 3


def test_nothing_missing_needs_no_plan() -> None:
    holdings = [Holding(work("web", 1, cpu=1), "m1", 3)]
    assert preempt(work("api", 9, cpu=1), Spread(0, {"m1": None}), {}, holdings) == Plan()


def test_a_set_of_components_is_counted_as_one() -> None:
    ray = Binding(
        resource=Resource(DEPLOYMENT, "shop", "ray"),
        intent=Intent(preemption=Preemption(may_preempt=True)),
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
