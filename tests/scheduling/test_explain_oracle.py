"""Explanations of recorded cases: they tell Karmada's own steps, and their numbers add up."""

from functools import cache
from typing import Any

import pytest
from oracle_sample import decided

from atoll.scheduling.decision import Decision
from atoll.scheduling.explain import Report, explain
from atoll.scheduling.recording import record
from atoll.scheduling.sentences import sentences
from bench.auditing import sums_check

Told = tuple[str, dict[str, Any], Report, Decision]


@cache
def sample() -> list[Told]:
    return [
        (case["id"], case["expected"]["detail"], explain(record(decision)), decision)
        for case, decision in decided(every=7)
    ]


def told_filters(report: Report) -> dict[str, dict[str, str]]:
    filters = {}
    for cluster in report.terms[-1].clusters:
        found = {each.filter: each.said for each in cluster.turned_away}
        found |= {"-": "deleting"} if cluster.reason.fate == "deleting" else {}
        if found:
            filters[cluster.name] = found
    return filters


def told_candidates(report: Report) -> list[list[Any]]:
    ranked = {each.rank: each for each in report.terms[-1].clusters if each.rank is not None}
    in_order = [ranked[rank] for rank in sorted(ranked)]
    return [[c.name, c.score, c.room, (c.room or 0) + (c.before or 0), c.tier] for c in in_order]


def told_selected(report: Report) -> list[str]:
    last = report.terms[-1]
    selected, names = last.trial.selected, last.record.roll.names
    return [] if selected is None else names[selected.in_order().rows].tolist()


def told_regions(report: Report) -> list[list[Any]]:
    return sorted(
        [each.name, each.score, each.clusters]
        for weighing in report.terms[-1].weighings
        for each in weighing.groups
    )


@pytest.mark.parametrize(
    ("step", "told", "nothing"),
    [
        pytest.param("filters", told_filters, {}, id="every filter a cluster failed"),
        pytest.param("candidates", told_candidates, [], id="candidates in order, with their room"),
        pytest.param("regions", told_regions, [], id="regions with their scores"),
        pytest.param("selected", told_selected, [], id="selected, in order"),
    ],
)
def test_an_explanation_tells_what_karmada_saw(step: str, told: Any, nothing: Any) -> None:
    wrong = [
        (name, told(report), detail.get(step))
        for name, detail, report, _ in sample()
        if told(report) != detail.get(step, nothing)
    ]
    assert wrong == []


def test_the_numbers_of_every_explanation_add_up() -> None:
    wrong = {name: sums_check(report) for name, _, report, _ in sample()}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_every_cluster_that_was_not_chosen_has_a_reason() -> None:
    for name, _, report, decision in sample():
        chosen = {each.name: each.replicas for each in decision.targets}
        assert {c.name: c.replicas for c in report.clusters if c.chosen} == chosen, name
        for term in report.terms:
            lost = [each for each in term.clusters if not each.chosen]
            assert all(each.reason.text for each in lost), name
            assert sum(count for count, _ in term.reasons) == len(lost), name


def test_every_cluster_is_named_in_the_sentences() -> None:
    for name, _, report, _ in sample():
        lines = sentences(report)
        first_words = {line.partition("  ")[0] for line in lines}
        if len(report.clusters) <= 50:
            assert {each.name for each in report.clusters} <= first_words, name
        assert not [line for line in lines if "None" in line or "cluster(s)  " in line], name
