"""What makes a cluster score more or less, when a policy asks for it."""

import pytest
from builders import make_binding, make_cluster
from modes_drawn import named, of_provider

from atoll.model.intent import Intent, Pick, Preference
from atoll.model.taint import Effect, Toleration
from atoll.scheduling.cycle import decide
from atoll.scheduling.fleet import Fleet

FLEET = [
    make_cluster("clean", provider="aws", scores={"latency": 5}),
    make_cluster("slow", provider="gcp", taints=["slow:PreferNoSchedule"], scores={"latency": -3}),
    make_cluster(
        "worst",
        provider="gcp",
        taints=["slow:PreferNoSchedule", "old=very:PreferNoSchedule"],
        scores={"carbon": 7},
    ),
]
TOLERANT = Toleration("slow", any_value=True, effect=Effect.PREFER_NO_SCHEDULE)


@pytest.mark.parametrize(
    ("intent", "name", "expected"),
    [
        pytest.param(Intent(soft_taints=10), "SoftTaints", [0, -10, -20], id="soft taints cost"),
        pytest.param(
            Intent(soft_taints=10, tolerations=(TOLERANT,)),
            "SoftTaints",
            [0, 0, -10],
            id="but not where they are tolerated",
        ),
        pytest.param(
            Intent(
                preferences=(
                    Preference(of_provider("gcp"), 30),
                    Preference(named("worst"), -500),
                )
            ),
            "Preferences",
            [0, 30, -470],
            id="preferences add up, also negative ones",
        ),
        pytest.param(
            Intent(scores=(("carbon", 2), ("latency", 3))),
            "OutsideScores",
            [15, -9, 14],
            id="scores given from outside, weighted; none is nothing",
        ),
    ],
)
def test_scores_are_as_the_policy_says(intent: Intent, name: str, expected: list[int]) -> None:
    decision = decide(make_binding(intent=intent), Fleet.of(FLEET))
    ((given, scores),) = decision.attempts[-1].scores
    assert (given, scores.tolist()) == (name, expected)


def test_nothing_scores_unless_a_policy_asks() -> None:
    assert decide(make_binding(), Fleet.of(FLEET)).attempts[-1].scores == ()


def test_the_best_is_picked_by_all_scores_together() -> None:
    intent = Intent(
        selection=Pick(most=1),
        soft_taints=10,
        preferences=(Preference(of_provider("gcp"), 40),),
        scores=(("carbon", 5),),
    )
    decision = decide(make_binding(intent=intent), Fleet.of(FLEET))
    assert [target.name for target in decision.targets] == ["worst"]
    others = Fleet.of(each for each in FLEET if each.name != "worst")
    assert [target.name for target in decide(make_binding(intent=intent), others).targets] == [
        "slow"
    ]


def test_scores_follow_a_cluster_that_changes() -> None:
    intent = Intent(scores=(("latency", 1),))
    fleet = Fleet.of(FLEET)
    changed = fleet.with_cluster(make_cluster("clean", provider="aws", scores={"latency": 99}))
    ((_, before),) = decide(make_binding(intent=intent), fleet).attempts[-1].scores
    ((_, after),) = decide(make_binding(intent=intent), changed).attempts[-1].scores
    assert (before.tolist(), after.tolist()) == ([5, -3, 0], [99, -3, 0])
