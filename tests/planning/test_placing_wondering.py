"""What people ask about placement is answered by deciding it."""

import pytest
from placing_world import EVEN, World, make_binding, make_cluster, make_fleet

from atoll.errors import Invalid
from atoll.planning.placing.plan import USUAL_SETTING
from atoll.planning.placing.wondering import changes, fits

FREE = make_cluster("a", 10)
TAINTED = make_cluster("b", taints=[{"key": "gpu", "effect": "NoSchedule"}])


def test_the_nearest_change_is_told_with_what_it_leads_to() -> None:
    binding = make_binding(4, dividing=EVEN)
    told = changes(binding, make_fleet(FREE, TAINTED), USUAL_SETTING)
    assert any("b takes" in each and "tolerate the taint gpu:NoSchedule" in each for each in told)


def test_what_runs_is_wondered_about_as_if_it_were_placed_anew() -> None:
    world = World(make_binding(4, dividing=EVEN), FREE, TAINTED)
    before = changes(world.binding, make_fleet(FREE, TAINTED), USUAL_SETTING)
    world.settle()
    assert world.targets == {"a": 4}
    assert changes(world.binding, make_fleet(FREE, TAINTED), USUAL_SETTING) == before


def test_what_cannot_be_placed_is_told_what_would_place_it() -> None:
    told = changes(make_binding(4, dividing=EVEN), make_fleet(TAINTED), USUAL_SETTING)
    assert told[0].startswith("it can be placed: b takes 4, if you tolerate")


def test_what_fits_is_counted_by_cluster() -> None:
    fleet = make_fleet(make_cluster("a", 10), make_cluster("b", 3))
    assert fits({"cpu": "2"}, fleet, models=True) == {"a": 5, "b": 1}
    assert fits({"cpu": "500m"}, fleet, models=True) == {"a": 20, "b": 6}


@pytest.mark.parametrize(
    ("requests", "problem"),
    [
        pytest.param({}, "must name a resource", id="nothing"),
        pytest.param({"cpu": "x"}, "is no quantity", id="no-quantity"),
        pytest.param({"cpu": "-1"}, "must not be negative", id="negative"),
    ],
)
def test_a_wrong_question_is_answered_with_what_is_wrong(
    requests: dict[str, str], problem: str
) -> None:
    with pytest.raises(Invalid, match=problem):
        fits(requests, make_fleet(FREE), models=True)
