"""Our decisions are Karmada's, and so are the steps that lead to them.

Every recorded case is decided once; each test looks at one aspect of all cases of a corpus and
lists those that differ.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from atoll.model.cluster import Cluster
from atoll.scheduling.cycle import decide
from atoll.scheduling.decision import Decision
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.recording import record
from atoll.scheduling.stored import decode, encode
from atoll.scheduling.trigger import trigger
from tests.oracle.casefile import CORPORA, Case, read_cases
from tests.oracle.compare import differences
from tests.oracle.predict import outcome
from tests.oracle.situation import Situation, situation
from tests.oracle.steps import steps

SIZES = {"cases.jsonl.gz": 3000, "cases-gates.jsonl.gz": 700}
SAMPLED = 20  # every twentieth case is also decided in fleets that came about otherwise
SHOWN = 10


@dataclass
class Findings:
    """What was looked at and what was found wrong, by aspect."""

    looked_at: dict[str, int] = field(default_factory=dict)
    wrong: dict[str, list[str]] = field(default_factory=dict)

    def add(self, case: Case, aspect: str, wrong: object) -> None:
        self.looked_at[aspect] = self.looked_at.get(aspect, 0) + 1
        if wrong:
            self.wrong.setdefault(aspect, []).append(f"{case['id']} {case['tags']}: {wrong}")

    def report(self, aspect: str) -> str:
        wrong = self.wrong.get(aspect, [])
        return "\n".join([f"{len(wrong)} of {self.looked_at.get(aspect)} differ", *wrong[:SHOWN]])


@cache
def findings(corpus: Path) -> Findings:
    found = Findings()
    for number, case in enumerate(read_cases(corpus, "expected")):
        asked = situation(case)
        decision = decide(asked.binding, asked.fleet, asked.setting, asked.surroundings)
        looks = [*look(case, decision), *look_at_trigger(case, asked)]
        if number % SAMPLED == 0:
            looks += look_at_history(asked, decision)
        for aspect, wrong in looks:
            found.add(case, aspect, wrong)
    return found


Look = tuple[str, object]


def look(case: Case, decision: Decision) -> Iterator[Look]:
    expected, got = case["expected"], outcome(decision)
    kind = "deterministic" if expected["deterministic"] else "subject to chance"
    yield kind, differences(expected, got)
    if expected.get("orderFree"):
        yield "kept order", order_not_kept(case, got)
    if "attempts" in expected["outcomes"][0]:
        yield "attempts", wrong_attempts(expected, decision)
    detail = stored_steps(decision)
    for step in ("affinity", "filters", "candidates", "regions", "selected", "selectError"):
        yield step, unlike(detail.get(step), [expected["detail"].get(step)])


def stored_steps(decision: Decision) -> dict[str, Any]:
    """The steps as they can still be told from the bytes that are kept of a decision."""
    kept = record(decision)
    return steps(decode(encode(kept), kept.roll.names))


def unlike(got: Any, recorded: list[Any]) -> str:
    return "" if got in recorded else f"expected {recorded[0]}, got {got}"


def order_not_kept(case: Case, got: dict[str, Any]) -> str:
    """Where Karmada's order is chance, we keep the order of the previous result."""
    free = set(case["expected"]["orderFree"])
    stable = case["expected"].get("stableSortOutcome")  # other clusters are free there
    before = [each["name"] for each in case["input"]["spec"]["clusters"] if each["name"] in free]
    ours = [each["name"] for each in got["clusters"] if each["name"] in free]
    return "" if got["clusters"] == stable else unlike(ours, [before])


def wrong_attempts(expected: dict[str, Any], decision: Decision) -> list[str]:
    """The terms tried, and why each was refused; the first refusal is the one reported."""
    recorded = [each["attempts"] for each in expected["outcomes"]]
    terms = [each.term.name for each in decision.attempts]
    wrong = [unlike(terms, [[each["affinity"] for each in recorded[0]]])]
    for place, each in enumerate(decision.attempts if not any(wrong) else ()):
        texts = [attempts[place].get("error") for attempts in recorded]
        texts += expected.get("possibleErrors", ()) if place == 0 else ()
        wrong.append(unlike(each.refusal and each.refusal.message, texts))
    return [each for each in wrong if each]


def look_at_trigger(case: Case, asked: Situation) -> Iterator[Look]:
    reason = trigger(asked.binding, asked.applied, asked.fleet, asked.setting.features)
    yield "trigger", unlike(str(reason), [case["expected"]["trigger"]])


def look_at_history(asked: Situation, decision: Decision) -> Iterator[Look]:
    """The same clusters, however they came together, lead to the same decision."""
    clusters, visitor = asked.fleet.clusters, Cluster(name="visitor", region="elsewhere")
    fleets = {"asked again": asked.fleet, "clusters reversed": Fleet.of(reversed(clusters))}
    grown = Fleet.of([Cluster(name=each.name) for each in clusters])
    for each in clusters:
        grown = grown.with_cluster(each)
    fleets["cluster by cluster"] = grown
    fleets["cluster left"] = Fleet.of([visitor, *clusters]).without(visitor.name)
    wanted = outcome(decision), steps(record(decision))
    for history, fleet in fleets.items():
        again = decide(asked.binding, fleet, asked.setting, asked.surroundings)
        yield history, unlike((outcome(again), steps(record(again))), [wanted])


# How many cases of each corpus have the aspect.
ASPECTS = [
    *(("deterministic", 2765, 616), ("subject to chance", 235, 84), ("kept order", 80, 1)),
    *(("trigger", 3000, 700), ("attempts", 638, 150), ("affinity", 3000, 700)),
    *(("filters", 3000, 700), ("candidates", 3000, 700), ("regions", 3000, 700)),
    *(("selected", 3000, 700), ("selectError", 3000, 700)),
    *(("asked again", 150, 35), ("clusters reversed", 150, 35)),
    *(("cluster by cluster", 150, 35), ("cluster left", 150, 35)),
]


@pytest.mark.parametrize(
    ("corpus", "aspect", "count"),
    [
        pytest.param(corpus, aspect, count, id=f"{aspect} of {corpus.name.partition('.')[0]}")
        for aspect, *counts in ASPECTS
        for corpus, count in zip(CORPORA, counts, strict=True)
    ],
)
def test_every_case_is_decided_as_karmada_decided_it(corpus, aspect, count):
    found = findings(corpus)
    assert not found.wrong.get(aspect), found.report(aspect)
    assert found.looked_at[aspect] == count


def test_no_aspect_goes_untested():
    for corpus in CORPORA:
        assert set(findings(corpus).looked_at) == {aspect for aspect, *_ in ASPECTS}
