"""Keys by their moments: whoever is due is found, and nothing is left of who is gone."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from atoll.control.scheduler.decide.deadlines import Deadlines

moments = st.one_of(st.integers(0, 9).map(float), st.just(inf))


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), moments, st.integers(0, 9).map(float)), max_size=40)
)
def test_whoever_is_due_is_found_in_order(steps: list[tuple[str, float, float]]) -> None:
    deadlines, plain = Deadlines[str](), dict[str, float]()
    for key, moment, now in steps:
        deadlines.set(key, moment)
        plain.pop(key, None)
        if moment != inf:
            plain[key] = moment
        due = {each for each, at in plain.items() if at <= now}
        found = deadlines.until(now)
        assert set(found) == due
        assert [plain[each] for each in found] == sorted(plain[each] for each in due)
        assert deadlines.first() == min(plain.values(), default=inf)
        assert len(deadlines) == len(plain)


def test_moments_that_are_put_off_again_and_again_are_not_kept() -> None:
    deadlines = Deadlines[str]()
    for moment in range(10_000):
        deadlines.set("a", float(moment))
    assert len(deadlines._heap) < 100
    deadlines.set("a", inf)
    assert deadlines.first() == inf
