"""What is worth placing anew: what is proposed is what happens, and it is never worse."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from placing_world import DIVIDED, EVEN, make_binding, make_cluster
from scheduling_world import NO_NODES, Plane, ref

from atoll.control.rebalancer.decide import order
from atoll.control.scheduler.decide import events
from atoll.control.scheduler.decide.inquiring import Answer
from atoll.control.scheduler.decide.proposing import Goal, Move, Proposal, Wish, propose
from atoll.control.scheduler.decide.told_moves import told
from atoll.dialects import prices
from atoll.dialects.karmada import cluster as clusters
from atoll.dialects.wire import written_time
from atoll.errors import Invalid
from atoll.model.assumed import Sums
from atoll.model.price import NANO, Price

LONG_S = 400.0
"""After which nothing is only assumed any more."""
CHEAPEST = {"atoll": {"divide": {"order": "Cheapest"}}}
ONE_CHEAP = {"atoll": {"select": {"order": "Cheapest", "maxClusters": 1}}}
SERVED = [
    {"groupVersion": "apps/v1", "resources": [{"kind": "Deployment"}, {"kind": "StatefulSet"}]},
    {"groupVersion": "batch/v1", "resources": [{"kind": "Job"}]},
]
COST, BALANCE = Wish(), Wish(Goal.BALANCE)


class Market(Plane):
    """A plane whose clusters have prices, and report how much is taken."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.reports: dict[str, Mapping[str, Any]] = {}

    def offer(self, name: str, cpu: int, taken: int = 0, price: int | None = None) -> None:
        """A cluster has so many CPUs, of which so many are taken, each at so much per hour."""
        wire = make_cluster(name, cpu)
        wire["status"]["resourceSummary"]["allocated"] = {"cpu": str(taken)}
        wire["status"]["apiEnablements"] = SERVED
        self.reports[name] = wire
        cost = None if price is None else Price(cpu=price * NANO, currency="EUR")
        cluster = replace(clusters.decode(wire), price=cost)
        self.tell(events.ClusterChanged(name, cluster))

    def proposed(
        self, wish: Wish = COST, answers: Mapping[str, Answer] | None = None, asked: Any = None
    ) -> Proposal:
        """What is proposed now; `asked` takes down what estimators were asked."""
        offers = {name: clusters.offered(each) for name, each in self.reports.items()}
        turns = propose(self.scheduler.rehearsal(NO_NODES, self.now), wish, offers)
        try:
            ask = next(turns)
            while True:
                if ask is not None and asked is not None:
                    asked.append(ask.inquiry)
                ask = turns.send(answers or {})
        except StopIteration as end:
            found: Proposal = end.value
            return found

    def apply(self, moves: tuple[Move, ...]) -> None:
        """Ask for all of them, as a WorkloadRebalancer does, before anything else happens."""
        for each in moves:
            self.edit(_name(each), rescheduleTriggeredAt=written_time(self.now + 1))
        self.settle(0.0)

    def cost(self) -> int:
        """What all costs where every price is known: each replica takes one CPU."""
        fleet = self.scheduler.fleet
        priced = {each.name: each.price.cpu for each in fleet.clusters if each.price is not None}
        return sum(
            (priced.get(target.name) or 0) * target.replicas
            for each in self.stored.values()
            for target in each.spec.clusters
        )


def _name(move: Move) -> str:
    return move.binding.spec.template.name


def _moved(proposal: Proposal) -> list[tuple[str, dict[str, int], dict[str, int]]]:
    return [(_name(each), dict(each.before), dict(each.after)) for each in proposal.moves]


def market(*names: str, cpu: int = 10, **more: Any) -> Market:
    it = Market(**more)
    for name in names:
        it.offer(name, cpu, price=2)
    return it


def grown_dear() -> Market:
    """Work that went where it was cheapest; now it is cheaper elsewhere."""
    it = market("a", "b")
    it.create("web", 4, **CHEAPEST)
    it.settle(LONG_S)
    assert it.targets("web") == {"a": 4}
    it.offer("a", 10, taken=4, price=3)
    it.offer("b", 10, price=1)
    return it


def test_who_asks_for_the_cheapest_clusters_is_moved_there_and_saves_the_difference() -> None:
    it = grown_dear()
    found = it.proposed()
    assert _moved(found) == [("web", {"a": 4}, {"b": 4})]
    assert found.saving == 8 * NANO
    assert (found.cost.known, found.cost.unknown, found.looked_at) == (12 * NANO, (), 1)
    assert it.targets("web") == {"a": 4}, "nothing is done about it"
    it.apply(found.moves)
    assert it.targets("web") == {"b": 4}
    assert it.proposed().moves == ()


@pytest.mark.parametrize(
    ("facts", "moves"),
    [
        pytest.param({"placement": {"clusterAffinity": {"clusterNames": ["a"]}}}, 0, id="bound"),
        pytest.param({"suspension": {"dispatching": True}}, 0, id="nothing-is-sent"),
        pytest.param({"schedulerName": "theirs"}, 0, id="not-ours"),
        pytest.param({}, 1, id="free-to-go"),
    ],
)
def test_nobody_is_proposed_who_would_not_go(facts: dict[str, Any], moves: int) -> None:
    it = grown_dear()
    spec = {**it.stored[ref("web")].wire["spec"], **facts}
    placement = {**spec["placement"], **facts.get("placement", {})}
    it.edit("web", **{**facts, "placement": placement})
    it.settle(LONG_S)
    assert len(it.proposed().moves) == moves


def test_a_saving_is_not_made_of_prices_that_nobody_knows() -> None:
    it = grown_dear()
    it.offer("a", 10, taken=4)
    found = it.proposed()
    assert found.moves == ()
    assert found.cost.unknown == ("a",)


def test_running_less_is_no_saving() -> None:
    it = market("a", "b")
    it.create("web", 4, atoll={"divide": {"order": "Cheapest", "onShortage": "Partial"}})
    it.settle(LONG_S)
    it.offer("a", 4, taken=4, price=3)
    it.offer("b", 10, taken=9, price=1)
    it.edit("web", placement={"clusterAffinity": {"clusterNames": ["b"]}})
    assert it.proposed().moves == ()


def test_who_gains_most_has_the_first_choice_of_room_and_order_is_that_of_asking() -> None:
    it = market("a", "b")
    for name, replicas in (("small", 1), ("big", 4), ("zig", 4)):
        it.create(name, replicas, **CHEAPEST)
    it.settle(LONG_S)
    it.offer("a", 10, taken=9, price=3)
    it.offer("b", 8, price=1)
    found = it.proposed()
    assert _moved(found) == [("big", {"a": 4}, {"b": 4}), ("zig", {"a": 4}, {"b": 4})]
    assert [_name(each) for each in it.proposed(Wish(most=1)).moves] == ["big"]
    assert it.proposed(Wish(namespace="elsewhere")).looked_at == 0
    it.apply(found.moves)
    assert it.targets("small") == {"a": 1}


def test_clusters_are_evened_out_if_that_is_wanted() -> None:
    it = market("a")
    it.create("web", 8, dividing=EVEN)
    it.settle(LONG_S)
    it.offer("a", 10, taken=8, price=2)
    it.offer("b", 10, price=3)
    assert it.proposed().moves == (), "it would cost more"
    found = it.proposed(BALANCE)
    assert _moved(found) == [("web", {"a": 8}, {"a": 4, "b": 4})]
    assert found.level_before[0] == 800
    assert found.level_after[0] == 400
    assert found.saving == -4 * NANO
    it.apply(found.moves)
    assert it.targets("web") == {"a": 4, "b": 4}


def test_what_evening_out_costs_is_not_known_where_a_price_is_not() -> None:
    it = market("a")
    it.create("web", 8, dividing=EVEN)
    it.settle(LONG_S)
    it.offer("a", 10, taken=8, price=2)
    it.offer("b", 10)
    answer = told(it.proposed(BALANCE), [])
    assert [each["savingPerHour"] for each in answer["moves"]] == [None]
    assert (answer["before"]["costPerHour"], answer["after"]["costPerHour"]) == ("16", None)


def test_estimators_are_asked_as_they_are_before_any_decision() -> None:
    it = market("a", "b", asks_estimators=True)
    it.create("web", 4, **CHEAPEST)
    it.settle(LONG_S)
    it.offer("a", 10, taken=4, price=3)
    it.offer("b", 10, price=1)
    asked: list[Any] = []
    full = {"b": Answer(0, Sums(), it.now)}
    assert it.proposed(answers=full, asked=asked).moves == ()
    assert [set(each.clusters) for each in asked] == [{"a", "b"}]
    assert len(it.proposed().moves) == 1, "who does not know has no say"


DIVISIONS = [CHEAPEST, {"dividing": EVEN}, {"dividing": DIVIDED}, ONE_CHEAP]
costs = st.sampled_from([0, 1, 2, 3, 4, None])
sizes = st.tuples(st.integers(1, 12), st.integers(0, 6), costs)
fleets = st.dictionaries(st.sampled_from("abcd"), st.tuples(sizes, sizes), min_size=2)
works = st.lists(st.tuples(st.integers(1, 5), st.sampled_from(DIVISIONS)), min_size=2, max_size=5)
wishes = st.builds(Wish, st.sampled_from(Goal), st.integers(1, 4))
waits = st.sampled_from([1.0, 45.0, LONG_S])


@settings(max_examples=150, deadline=None)
@given(fleets, works, wishes, waits)
def test_what_is_proposed_is_what_happens_and_it_is_never_worse(
    fleet: Any, works: Any, wish: Wish, wait_s: float
) -> None:
    it = Market()
    for name, ((cpu, taken, cost), _) in fleet.items():
        it.offer(name, cpu, taken, cost)
    for at, (replicas, facts) in enumerate(works):
        it.create(f"w{at}", replicas, **facts)
    it.settle(wait_s)
    for name, (_, (cpu, taken, cost)) in fleet.items():
        it.offer(name, cpu, taken, cost)
    it.settle(wait_s)
    before = {key: it.targets(key.name.partition("-")[0]) for key in it.stored}
    found, cost_before = it.proposed(wish), it.cost()
    assert len(found.moves) <= wish.most
    workloads = [each.binding.spec.template for each in found.moves]
    assert workloads == sorted(workloads, key=order)
    it.apply(found.moves)
    wanted = before | {each.binding.ref: dict(each.after) for each in found.moves}
    assert {key: it.targets(key.name.partition("-")[0]) for key in it.stored} == wanted
    assert all(before[each.binding.ref] == dict(each.before) for each in found.moves)
    if wish.goal is Goal.COST:
        assert all((each.saving or 0) > 0 for each in found.moves)
        assert it.cost() == cost_before - (found.saving or 0) <= cost_before
    else:
        assert bool(found.moves) == (found.level_after[:2] < found.level_before[:2])


def test_a_proposal_is_told_with_what_it_disrupts_and_what_is_missing_to_judge_it() -> None:
    it = grown_dear()
    it.offer("c", 1)
    late = {
        "metadata": {"name": "old"},
        "spec": {"cluster": "c", "perCPUHour": "1", "currency": "EUR"},
        "status": {"conditions": [{"type": "InForce", "status": "False", "message": "it is over"}]},
    }
    answer = told(it.proposed(), [prices.decode(late)])
    (move,) = answer["moves"]
    assert move == {
        "workload": {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "namespace": "shop",
            "name": "web",
        },
        "binding": "web-deployment",
        "from": [{"name": "a", "replicas": 4}],
        "to": [{"name": "b", "replicas": 4}],
        "savingPerHour": "8",
        "restarts": 4,
        "fewerMeanwhile": 0,
        "disrupts": "4 of 4 start elsewhere before the old end",
        "why": "its policy asks for the cheapest clusters",
    }
    assert answer["currency"] == "EUR"
    assert answer["before"]["costPerHour"] == "12"
    assert answer["after"]["costPerHour"] == "4"
    assert answer["before"]["fullestCluster"] == "a"
    assert answer["unpriced"] == [{"cluster": "c", "why": "ClusterPrice old: it is over"}]


@pytest.mark.parametrize(
    ("kind", "replicas", "extra", "said"),
    [
        pytest.param(
            "Deployment",
            1,
            {},
            "its only replica starts elsewhere before the old ends",
            id="single",
        ),
        pytest.param("Deployment", 2, {}, "2 of 2 start elsewhere before the old end", id="all"),
        pytest.param(
            "Job",
            2,
            {},
            "2 of 2 start elsewhere before the old end; work done so far is lost",
            id="job",
        ),
        pytest.param(
            "StatefulSet",
            2,
            {},
            "2 of 2 start elsewhere before the old end; volumes stay behind",
            id="stateful",
        ),
        pytest.param(
            "StatefulSet",
            3,
            {"ordinals": {}},
            "3 of 3 end before they start elsewhere; 0-2 in b; volumes stay behind",
            id="ordinals",
        ),
    ],
)
def test_what_a_move_disrupts(kind: str, replicas: int, extra: dict[str, Any], said: str) -> None:
    it = market("a", "b")
    wire = make_binding(replicas, atoll={**CHEAPEST["atoll"], **extra})
    wire["metadata"]["name"] = f"web-{kind}".lower()
    api_version = "batch/v1" if kind == "Job" else "apps/v1"
    wire["spec"]["resource"] |= {"apiVersion": api_version, "kind": kind}
    it.store(wire)
    it.settle(LONG_S)
    it.offer("a", 10, taken=replicas, price=3)
    (move,) = told(it.proposed(), [])["moves"]
    assert move["disrupts"] == said
    assert move["restarts"] == replicas
    assert move["fewerMeanwhile"] == (replicas if extra else 0)


def test_a_cluster_that_keeps_some_lets_go_of_the_others_at_once() -> None:
    it = market("a")
    it.create("web", 8, dividing=EVEN)
    it.settle(LONG_S)
    it.offer("a", 10, taken=8, price=2)
    it.offer("b", 10, price=1)
    (move,) = told(it.proposed(), [])["moves"]
    assert move["disrupts"] == "4 of 8 end before they start elsewhere"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        pytest.param({"goal": "fun"}, "must be cost or balance", id="goal"),
        pytest.param({"most": "0"}, "must be between 1 and 1000", id="none"),
        pytest.param({"most": "x"}, "must be between 1 and 1000", id="no-number"),
    ],
)
def test_a_wish_that_cannot_be_read_says_why(words: dict[str, str], problem: str) -> None:
    with pytest.raises(Invalid, match=problem):
        Wish.of(words)


def test_a_wish_is_what_the_words_say() -> None:
    assert Wish.of({}) == COST
    assert Wish.of({"goal": "balance", "most": "3", "namespace": "shop"}) == Wish(
        Goal.BALANCE, 3, "shop"
    )
