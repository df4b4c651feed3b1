"""The comparison with Karmada's answers can fail, and forgives only what is chance in Karmada."""

from copy import deepcopy
from typing import Any

import pytest

from tests.oracle.casefile import CORPORA, read_cases
from tests.oracle.compare import differences


def target(name: str, replicas: int) -> dict[str, Any]:
    return {"name": name, "replicas": replicas}


SUCCESS = {
    "ok": True,
    "clusters": [target("m1", 3), target("m2", 2), target("m3", 1)],
    "reason": "Success",
    "affinity": "group1",
}
KEPT = {
    "ok": False,
    "clusters": [],
    "reason": "Unschedulable",
    "error": "failed to assign replicas: too few.",
    "retry": True,
    "bound": [target("m1", 3), target("m2", 2)],
}
CLEARED = {"ok": False, "clusters": [], "reason": "NoClusterFit", "error": "0/2: a, b."}


def predicted(outcome: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The prediction that repeats an outcome, but for the changes."""
    empty = {"error": None, "retry": False, "affinity": "", "bound": None}
    return empty | deepcopy(outcome) | changes


@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(SUCCESS, id="success"),
        pytest.param(KEPT, id="error that keeps the old result"),
        pytest.param(CLEARED, id="error that clears the binding"),
    ],
)
def test_the_recorded_outcome_is_accepted(outcome):
    assert differences({"outcomes": [outcome]}, predicted(outcome)) == []


@pytest.mark.parametrize(
    ("outcome", "changes", "named"),
    [
        pytest.param(
            SUCCESS,
            {"clusters": [target("m1", 2), target("m2", 3), target("m3", 1)]},
            "clusters",
            id="other replicas",
        ),
        pytest.param(
            SUCCESS, {"clusters": [target("m1", 3), target("m2", 2)]}, "clusters", id="one missing"
        ),
        pytest.param(
            SUCCESS,
            {"clusters": [*SUCCESS["clusters"], target("m3", 1)]},
            "clusters",
            id="one twice",
        ),
        pytest.param(
            SUCCESS,
            {"clusters": [target("m2", 2), target("m1", 3), target("m3", 1)]},
            "order",
            id="other order",
        ),
        pytest.param(SUCCESS, {"ok": False}, "ok", id="not ok"),
        pytest.param(SUCCESS, {"retry": True}, "retry", id="retried though it succeeded"),
        pytest.param(SUCCESS, {"affinity": "group2"}, "affinity", id="other term"),
        pytest.param(SUCCESS, {"affinity": None}, "affinity", id="no term"),
        pytest.param(SUCCESS, {"bound": []}, "bound", id="cleared though it succeeded"),
        pytest.param(SUCCESS, {"error": "no"}, "error", id="an error though it succeeded"),
        pytest.param(KEPT, {"reason": "SchedulerError"}, "reason", id="other reason"),
        pytest.param(KEPT, {"error": "failed."}, "error", id="other text"),
        pytest.param(KEPT, {"error": None}, "error", id="no text"),
        pytest.param(KEPT, {"retry": False}, "retry", id="not retried"),
        pytest.param(KEPT, {"bound": [target("m1", 3), target("m2", 1)]}, "bound", id="lost one"),
        pytest.param(KEPT, {"bound": KEPT["bound"][::-1]}, "bound", id="kept in other order"),
        pytest.param(KEPT, {"bound": None}, "bound", id="old result not kept"),
        pytest.param(CLEARED, {"bound": [target("m1", 3)]}, "bound", id="old result not cleared"),
    ],
)
def test_any_other_outcome_is_rejected(outcome, changes, named):
    found = differences({"outcomes": [outcome]}, predicted(outcome, **changes))
    assert [each.partition(":")[0] for each in found] == [named]


def test_clusters_of_free_order_change_places_among_themselves():
    expected = {"outcomes": [SUCCESS], "orderFree": ["m2", "m3"]}
    swapped = predicted(SUCCESS, clusters=[target("m1", 3), target("m3", 1), target("m2", 2)])
    assert differences(expected, swapped) == []


@pytest.mark.parametrize(
    "clusters",
    [
        pytest.param([target("m2", 2), target("m1", 3), target("m3", 1)], id="others' place"),
        pytest.param([target("m1", 3), target("m3", 2), target("m2", 1)], id="others' replicas"),
    ],
)
def test_clusters_of_free_order_take_nothing_from_others(clusters):
    expected = {"outcomes": [SUCCESS], "orderFree": ["m2", "m3"]}
    assert differences(expected, predicted(SUCCESS, clusters=clusters))


def test_any_text_that_was_possible_is_accepted_and_no_other():
    expected = {"outcomes": [CLEARED], "possibleErrors": ["0/2: a, b.", "0/2: b, c."]}
    assert differences(expected, predicted(CLEARED, error="0/2: b, c.")) == []
    assert differences(expected, predicted(CLEARED, error="0/2: a, c."))


def test_the_answer_of_a_stable_sort_is_accepted_where_it_is_recorded():
    stable = [target("m2", 6)]
    got = predicted(SUCCESS, clusters=stable)
    assert differences({"outcomes": [SUCCESS], "stableSortOutcome": stable}, got) == []
    assert differences({"outcomes": [SUCCESS]}, got)


def test_the_old_result_may_be_named_or_not_where_it_is_what_was_decided():
    expected = {"outcomes": [SUCCESS]}
    assert differences(expected, predicted(SUCCESS, bound=SUCCESS["clusters"])) == []
    assert differences({"outcomes": [CLEARED]}, predicted(CLEARED, bound=[])) == []


@pytest.mark.parametrize("corpus", CORPORA, ids=lambda path: path.name)
def test_every_recorded_outcome_is_accepted_and_its_neighbours_are_not(corpus):
    accepted = rejected = 0
    for case in read_cases(corpus, "expected"):
        expected = case["expected"]
        for outcome in expected["outcomes"]:
            assert differences(expected, predicted(outcome)) == [], case["id"]
            accepted += 1
        first = expected["outcomes"][0]
        for changes in neighbours(first):
            assert differences(expected, predicted(first, **changes)), (case["id"], changes)
            rejected += 1
    assert accepted >= 700
    assert rejected > accepted


def neighbours(outcome: dict[str, Any]) -> list[dict[str, Any]]:
    """Outcomes that differ from this one in one thing."""
    clusters = outcome["clusters"]
    changes: list[dict[str, Any]] = [
        {"ok": not outcome["ok"]},
        {"reason": "Other"},
        {"retry": not outcome.get("retry", False)},
        {"affinity": "other"},
        {"error": "other"},
        {"bound": [target("other", 1)]},
        {"clusters": [*clusters, target("other", 0)]},
    ]
    if clusters:
        more = target(clusters[0]["name"], clusters[0]["replicas"] + 1)
        changes.append({"clusters": [more, *clusters[1:]]})
    return changes
