"""Those who must leave a cluster do so one after the other; those of other clusters do not wait."""

import pytest

from atoll.control.eviction.wiring import Spacing
from atoll.model.action import Ref

ONE, TWO, THREE = (Ref("v1", "ResourceBinding", "default", name) for name in ("a", "b", "c"))


@pytest.mark.parametrize(
    ("rate", "apart_s"),
    [
        pytest.param(10.0, 0.1, id="ten a second"),
        pytest.param(0.5, 2.0, id="as Karmada"),
        pytest.param(0.0, 1800.0, id="halted"),
    ],
)
def test_each_gets_a_moment_of_its_own_in_each_cluster(rate: float, apart_s: float) -> None:
    spacing = Spacing(rate)
    assert spacing.turns(ONE, ["m1"], 100.0) == {"m1": 100.0}
    assert spacing.turns(TWO, ["m1", "m2"], 100.0) == {"m1": 100.0 + apart_s, "m2": 100.0}
    assert spacing.turns(THREE, ["m1"], 100.0) == {"m1": pytest.approx(100.0 + 2 * apart_s)}
    late = 100.0 + 10 * apart_s
    assert spacing.turns(ONE, ["m2"], late) == {"m2": late}


def test_a_moment_that_was_given_stays_until_it_is_used_or_not_needed() -> None:
    spacing = Spacing(1.0)
    spacing.turns(ONE, ["m1"], 100.0)
    given = spacing.turns(TWO, ["m1"], 100.0)
    assert spacing.turns(TWO, ["m1"], 100.5) == given == {"m1": 101.0}
    assert spacing.turns(TWO, [], 101.0) == {}
    assert spacing.turns(TWO, ["m1"], 101.5) == {"m1": 102.0}
