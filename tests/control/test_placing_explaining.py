"""Every decision can be read about."""

from dataclasses import replace
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from placing_world import EVEN, NOW, World, make_binding, make_cluster

from atoll.control.explanations.decide.keeping import keep, untold
from atoll.control.explanations.decide.telling import Note, note, read_record
from atoll.control.explanations.decide.waiting import Untold
from atoll.dialects import json
from atoll.dialects.compressed import deflated
from atoll.dialects.explanations import KEPT, compact, expanded, problems
from atoll.dialects.kubernetes.metadata import decode
from atoll.model.action import NOTHING, Create, Delete, Plan, Update
from atoll.model.neighbour import Neighbour
from atoll.scheduling.decision import Decision
from atoll.scheduling.explain import explain
from atoll.scheduling.question import Surroundings
from atoll.scheduling.trigger import Trigger

PRICED = make_cluster("a", 10)
PRICED["metadata"]["annotations"] = {"atoll.io/price": "cpu=0.25, currency=EUR"}
TAINTED = make_cluster("b", taints=[{"key": "gpu", "effect": "NoSchedule"}])


def decided(replicas: int = 2, *clusters: dict[str, Any]) -> tuple[World, Decision]:
    world = World(make_binding(replicas, dividing=EVEN), *(clusters or (PRICED, TAINTED)))
    decision = world.look().decision
    assert decision is not None
    return world, decision


def written(plan: Plan) -> Any:
    """What the one write of a plan would store."""
    (found,) = (each.object for each in plan.actions if isinstance(each, Create | Update))
    return found


def explained(replicas: int = 2, *clusters: dict[str, Any]) -> Any:
    world, decision = decided(replicas, *clusters)
    return written(
        keep(decode(world.binding), None, [note(decision, Trigger.PLACEMENT_CHANGED, NOW)])
    )


def test_an_explanation_says_what_was_decided_and_why() -> None:
    told = explained()
    assert told["apiVersion"] == "placement.atoll.io/v1alpha1"
    assert told["kind"] == "Explanation"
    assert told["metadata"]["namespace"] == "shop"
    assert told["metadata"]["name"] == "web-deployment"
    assert told["metadata"]["ownerReferences"][0]["uid"] == "uid-web"
    assert told["binding"]["name"] == "web-deployment"
    (decision,) = told["decisions"]
    assert decision["time"] == "2027-01-15T08:00:00Z"
    assert decision["trigger"] == "placementChanged"
    assert decision["outcome"] == {"verdict": "Success", "summary": "2 replicas in 1 cluster: a 2"}
    assert decision["targets"] == [{"name": "a", "replicas": 2}]
    assert decision["cost"] == "0.5 EUR per hour"
    assert decision["costs"] == [{"name": "a", "perHour": "0.5 EUR per hour"}]
    assert "cost: 0.5 EUR per hour" in decision["sentences"]
    a, b = decision["clusters"]
    assert (a["name"], a["chosen"], a["replicas"]) == ("a", True, 2)
    assert (b["name"], b["chosen"]) == ("b", False)
    assert "untolerated taint" in b["reason"]
    assert any("by free capacity" in each for each in decision["sentences"])


@given(
    st.integers(0, 30),
    st.lists(st.tuples(st.integers(0, 40), st.booleans()), min_size=1, max_size=6),
)
def test_every_count_of_an_explanation_adds_up(
    replicas: int, described: list[tuple[int, bool]]
) -> None:
    taints = [{"key": "gpu", "effect": "NoSchedule"}]
    clusters = [
        make_cluster(f"c{at}", cpu, **({"taints": taints} if tainted else {}))
        for at, (cpu, tainted) in enumerate(described)
    ]
    (told,) = explained(replicas, *clusters)["decisions"]
    turned_away = [each for each in told["clusters"] if each["fate"] == "filtered"]
    assert told["fleetSize"] == len(told["clusters"]) == told["passed"] + len(turned_away)
    assert {one["filter"] for each in turned_away for one in each["turnedAwayBy"]} <= set(
        told["filters"]
    )
    if told["outcome"]["verdict"] == "Success" and replicas:
        given_out = sum(line["won"] + line["kept"] for one in told["sums"] for line in one["lines"])
        assert given_out == sum(each["replicas"] for each in told["targets"]) == replicas


@pytest.mark.parametrize("clusters", [0, 2, 80], ids=["none", "few", "many"])
def test_the_record_can_be_read_back(clusters: int) -> None:
    world = World(make_binding(), *(make_cluster(f"x{n}", 10) for n in range(clusters)))
    decision = world.look().decision
    assert decision is not None
    told = written(keep(decode(world.binding), None, [note(decision, Trigger.NONE, NOW)]))
    report = explain(read_record(told["decisions"][0]["record"]))
    assert len(report.clusters) == clusters
    assert [each._asdict() for each in report.targets] == told["decisions"][0].get("targets", [])


def test_an_explanation_is_made_of_plain_values() -> None:
    told = explained()
    assert json.read(json.written(told)) == told


def test_a_refusal_is_explained_too() -> None:
    (told,) = explained(2, TAINTED)["decisions"]
    assert told["outcome"]["verdict"] == "NoClusterFit"
    assert told["outcome"]["message"].startswith("0/1 clusters are available")
    assert "targets" not in told
    assert "cost" not in told


def test_of_many_clusters_only_those_chosen_are_told_one_by_one() -> None:
    (told,) = explained(2, PRICED, *(make_cluster(f"x{n}", 0) for n in range(80)))["decisions"]
    assert [each["name"] for each in told["clusters"]] == ["a"]
    assert sum(each["count"] for each in told["reasons"]) == 80


def test_a_choice_by_price_says_what_each_cluster_would_have_cost() -> None:
    dear = make_cluster("dear", 10)
    dear["metadata"]["annotations"] = {"atoll.io/price": "cpu=0.75, currency=EUR"}
    binding = make_binding(2, atoll={"select": {"order": "Cheapest", "maxClusters": 1}})
    world = World(binding, dear, PRICED, make_cluster("unknown", 10))
    decision = world.look().decision
    assert decision is not None
    told = written(keep(decode(binding), None, [note(decision, Trigger.NONE, NOW)]))["decisions"][0]
    assert told["outcome"]["summary"] == "2 replicas in 1 cluster: a 2"
    assert {each["name"]: each["unitCost"] for each in told["clusters"]} == {
        "a": "0.25 EUR per hour",
        "dear": "0.75 EUR per hour",
        "unknown": "not known",
    }
    assert told["sentences"][-1] == (
        "what one replica costs: a 0.25 EUR per hour, dear 0.75 EUR per hour, unknown not known"
    )
    reasons = {each["name"]: each.get("reason", "") for each in told["clusters"]}
    assert reasons["unknown"] == "its price is not known, and that of others is known"


def test_a_cluster_wide_binding_has_a_cluster_wide_explanation() -> None:
    _, decision = decided()
    binding = {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ClusterResourceBinding",
        "metadata": {"name": "role-clusterrole", "uid": "u"},
    }
    told = written(keep(decode(binding), None, [note(decision, Trigger.NONE, NOW)]))
    assert (told["kind"], told["metadata"]["name"]) == ("ClusterExplanation", "role-clusterrole")
    assert "namespace" not in told["metadata"]


def test_others_of_its_group_are_named_apart() -> None:
    world, decision = decided()
    near = Neighbour("shop", "near", anti_affinity_group="g", targets=frozenset({"b", "a"}))
    others = (
        near,
        Neighbour("shop", "unrelated", anti_affinity_group="h"),
        Neighbour("elsewhere", "far", anti_affinity_group="g"),
    )
    binding = replace(decision.binding, anti_affinity_group="g")
    grouped = decision._replace(binding=binding, surroundings=Surroundings(neighbours=others))
    told = written(keep(decode(world.binding), None, [note(grouped, Trigger.NONE, NOW)]))
    assert told["decisions"][0]["others"] == [
        {
            "kind": "ResourceBinding",
            "namespace": "shop",
            "name": "near",
            "because": "it is of the same anti-affinity group",
            "clusters": ["a", "b"],
        }
    ]


class TestTheLastTen:
    def test_are_kept_in_one_object_by_one_write_each(self) -> None:
        known: Any = None
        for turn in range(25):
            world, decision = decided(1 + turn % 2)
            noted = [note(decision, Trigger.NONE, NOW + turn)]
            plan = keep(decode(world.binding), known, noted)
            assert len(plan.actions) == 1
            known = written(plan)
            assert keep(decode(world.binding), known, noted) is NOTHING
        shown = expanded(known)["decisions"]
        assert len(shown) == KEPT
        times = [each["time"] for each in shown]
        assert times == sorted(times, reverse=True)
        assert [each["replicas"] for each in shown] == [1, 2] * (KEPT // 2)
        assert [each["number"] for each in shown] == list(range(25, 25 - KEPT, -1))
        assert ["record" in each for each in shown] == [True] + [False] * (KEPT - 1)

    def test_that_were_made_before_there_was_time_are_told_together(self) -> None:
        world, one = decided(1)
        _, two = decided(2)
        noted = [note(each, Trigger.NONE, NOW) for each in (one, one, two, two, one)]
        shown = expanded(written(keep(decode(world.binding), None, noted)))["decisions"]
        assert [each["replicas"] for each in shown] == [1, 2, 1]

    def test_that_were_told_although_nobody_heard_of_it_are_not_told_again(self) -> None:
        world, first = decided(2)
        noted = [
            note(each, Trigger.NONE, NOW + at)
            for at, each in enumerate((first, decided(3)[1], decided(4)[1]))
        ]
        known = written(keep(decode(world.binding), None, noted[:2]))
        assert untold(known, noted) == noted[2:]
        assert untold(known, noted[:2]) == []
        assert untold(None, noted) == noted
        assert untold(known, noted[2:]) == noted[2:]

    def test_of_a_binding_that_was_made_anew_are_its_own(self) -> None:
        world, decision = decided()
        noted = [note(decision, Trigger.NONE, NOW)]
        known = written(keep(decode(world.binding), None, noted))
        known = {**known, "metadata": {**known["metadata"], "uid": "old"}}
        metadata = {**world.binding["metadata"], "uid": "another"}
        plan = keep(decode({**world.binding, "metadata": metadata}), known, noted)
        assert [type(each) for each in plan.actions] == [Delete, Create]
        assert written(plan)["binding"]["uid"] == "another"
        assert len(expanded(written(plan))["decisions"]) == 1


POOL = {replicas: decided(replicas)[1] for replicas in (1, 2, 3)}


@given(st.lists(st.lists(st.sampled_from([*POOL]), max_size=4), max_size=8))
def test_it_makes_no_difference_which_decisions_are_told_together(batches: list[list[int]]) -> None:
    binding = make_binding()

    def kept(groups: list[list[int]]) -> Any:
        known: Any = None
        for group in groups:
            plan = keep(
                decode(binding), known, [note(POOL[each], Trigger.NONE, NOW) for each in group]
            )
            known = written(plan) if plan.actions else known
        return known

    apart = [[each] for batch in batches for each in batch]
    assert kept(batches) == kept(apart)
    shown = [each["replicas"] for each in expanded(kept(apart) or {}).get("decisions", [])]
    turns = [each for each, _ in groupby(each for batch in batches for each in batch)]
    assert shown == turns[::-1][:KEPT]


class TestTheStoredForm:
    def test_is_shown_whole_and_stored_small_whichever_is_given(self) -> None:
        shown = {"decisions": [{"time": str(each), "outcome": {}} for each in range(KEPT)]}
        assert expanded(compact(shown)) == shown
        assert compact(compact(shown)) == compact(shown)
        assert len(compact(shown)["decisions"]) == 1

    @pytest.mark.parametrize("earlier", ["", "no base64", "AAAA", deflated(b"[1]"), deflated(b"{")])
    def test_that_nobody_wrote_is_refused_and_shown_as_it_is(self, earlier: str) -> None:
        (problem,) = problems({"earlier": earlier})
        assert (problem.field, "leave it out" in problem.problem) == ("earlier", True)
        assert expanded({"earlier": earlier}) == {"earlier": earlier}

    def test_does_not_blow_up(self) -> None:
        bomb = deflated(b"[" + b" " * (20 * 2**20) + b"]")
        assert len(list(problems({"earlier": bomb}))) == 1


def test_of_very_many_bindings_that_wait_to_be_explained_every_one_is() -> None:
    _, decision = decided()
    fresh, waiting = note(decision, Trigger.PLACEMENT_CHANGED, NOW), Untold[int]()
    for number in range(20_000):
        waiting.add(number, fresh)
    assert all(waiting.take(number) == [fresh] for number in range(20_000))
    assert len(waiting) == 0


@given(st.lists(st.tuples(st.integers(1, 4), st.sampled_from(["add", "fail", "tell"]))))
def test_the_latest_decisions_are_told_in_order_whatever_failed_meanwhile(
    steps: list[tuple[int, str]],
) -> None:
    waiting, told, added = Untold[str](), list[Note](), list[Note]()
    for replicas, step in steps:
        if step == "add":
            fresh = NOTES[replicas]
            waiting.add("web", fresh)
            added.append(fresh)
        taken = waiting.take("web") if step != "add" else []
        if step == "fail" and taken:
            waiting.put_back("web", taken)
        else:
            told += taken
    told += waiting.take("web")
    # No two in a row that say the same, unless one was told before the other was known.
    assert [each for each, _ in groupby(told)][-KEPT:] == [each for each, _ in groupby(added)][
        -KEPT:
    ]


def test_of_one_binding_only_as_many_decisions_wait_as_are_kept() -> None:
    waiting, several = Untold[str](), [NOTES[1 + number % 2] for number in range(3 * KEPT)]
    for each in several:
        waiting.add("web", each)
    assert waiting.take("web") == several[-KEPT:]
    waiting.add("web", several[-1])
    waiting.put_back("web", several[-KEPT:])
    assert waiting.take("web") == [*several[-KEPT + 1 :], several[-1]]
    waiting.add("web", several[0])
    waiting.forget("web")
    assert waiting.take("web") == []


NOTES = {
    replicas: note(decided(replicas)[1], Trigger.PLACEMENT_CHANGED, NOW + replicas)
    for replicas in range(1, 5)
}
