"""Laws of counters and histograms, and how they are written."""

from hypothesis import given
from hypothesis import strategies as st

from atoll.instruments.counting import Counter, Histogram, doubling
from atoll.instruments.families import text_of

MEMBERS = st.sampled_from(["east", "west", "north"])
BOUNDS = doubling(0.001, 12)


def test_bounds_double() -> None:
    assert doubling(0.5, 4) == (0.5, 1.0, 2.0, 4.0)
    assert doubling(1.0, 3, 10.0) == (1.0, 10.0, 100.0)


@given(st.lists(st.tuples(st.floats(0, 10), MEMBERS)))
def test_a_histogram_has_every_amount_once_and_in_its_buckets(
    noted: list[tuple[float, str]],
) -> None:
    histogram = Histogram("took_seconds", "How long.", BOUNDS, "member")
    for amount, member in noted:
        histogram.note(amount, member)
    *_, samples = histogram.family()
    found = {(added, labels): value for added, labels, value in samples}
    for member in {member for _, member in noted}:
        amounts = [amount for amount, each in noted if each == member]
        label = ("member", member)
        for bound in BOUNDS:
            within = sum(each <= bound for each in amounts)
            assert found["_bucket", (label, ("le", f"{bound:g}"))] == within
        assert found["_bucket", (label, ("le", "+Inf"))] == len(amounts)
        assert found["_count", (label,)] == len(amounts)


@given(st.lists(MEMBERS), MEMBERS)
def test_what_is_gone_takes_its_own_series_and_no_others(seen: list[str], gone: str) -> None:
    counter = Counter("seen_total", "How often.", "result", "member")
    histogram = Histogram("took_seconds", "How long.", BOUNDS, "member")
    for member in seen:
        counter.add("success", member)
        histogram.note(1.0, member)
    counter.forget("member", gone)
    histogram.forget("member", gone)
    *_, samples = counter.family()
    left = {dict(labels)["member"]: value for _, labels, value in samples}
    assert left == {each: seen.count(each) for each in seen if each != gone}
    *_, samples = histogram.family()
    assert {dict(labels)["member"] for _, labels, _ in samples} == {*seen} - {gone}


def test_labels_are_quoted_as_prometheus_reads_them() -> None:
    counter = Counter("seen_total", "How often.", "name")
    counter.add('a "b"\n\\c')
    assert text_of([counter.family()]).splitlines() == [
        "# HELP seen_total How often.",
        "# TYPE seen_total counter",
        'seen_total{name="a \\"b\\"\\n\\\\c"} 1',
    ]
