"""Times and quantities as the API writes them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.dialects.wire import amount, instant, quantity
from atoll.errors import Invalid
from atoll.model.amount import Amount

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("written", "nanoseconds"),
    [
        pytest.param("1970-01-01T00:00:00Z", 0, id="the epoch"),
        pytest.param("1970-01-01T00:00:01.5Z", SECOND * 3 // 2, id="half a second"),
        pytest.param("1970-01-01T01:00:00+01:00", 0, id="another zone"),
        pytest.param("1969-12-31T23:59:59.999999999Z", -1, id="before the epoch"),
        pytest.param("1970-01-01T00:00:00.0000000019Z", 1, id="beyond nanoseconds"),
        pytest.param(None, None, id="absent"),
    ],
)
def test_times_are_exact(written: str | None, nanoseconds: int | None) -> None:
    assert instant({"at": written}, "at", "") == nanoseconds


@given(
    st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2200, 1, 1)),  # noqa: DTZ001
    st.integers(-840, 840),
)
def test_times_read_as_they_were_written(moment: datetime, minutes: int) -> None:
    there = timedelta(minutes=minutes)
    sign = "-" if minutes < 0 else "+"
    zone = f"{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    written = (moment + there).isoformat(timespec="microseconds") + zone
    apart = moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    assert instant({"at": written}, "at", "") == apart // timedelta(microseconds=1) * 1000


@pytest.mark.parametrize(
    "written",
    ["", "now", "2026-05-01", "2026-05-01T10:00:00", "2026-13-01T10:00:00Z", "20260501T100000Z", 5],
)
def test_no_other_form_is_a_time(written: Any) -> None:
    with pytest.raises(Invalid, match=r"at: .* is no time"):
        instant({"at": written}, "at", "")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        pytest.param("1500m", Amount(1500), id="milli"),
        pytest.param("1Gi", Amount(2**30 * 1000, binary=True), id="binary"),
        pytest.param("0Gi", Amount(0, binary=True), id="nothing in binary"),
        pytest.param("0.0001Ki", Amount(103), id="less than one is decimal"),
        pytest.param("1e3", Amount(1_000_000), id="an exponent"),
        pytest.param("-1500u", Amount(-2), id="away from zero"),
        pytest.param(7, Amount(7000), id="a whole number"),
        pytest.param(0.1, Amount(100), id="a fraction as it was written"),
        pytest.param(1e22, Amount(10**25), id="a large number"),
    ],
)
def test_amounts_are_thousandths(written: Any, meant: Amount) -> None:
    assert amount(written, "here") == meant


@pytest.mark.parametrize(
    "written", [None, True, "", "1x", "Gi", [], {}, float("nan"), float("inf")]
)
def test_no_other_value_is_a_quantity(written: Any) -> None:
    with pytest.raises(Invalid, match=r"^here: .* is no quantity"):
        quantity(written, "here")
