"""Spans of time on the command line."""

import click
import pytest

from atoll.cli.options import Span


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        pytest.param("90", 90.0, id="seconds"),
        pytest.param("2m", 120.0, id="minutes-not-milliseconds"),
        pytest.param("250ms", 0.25, id="milliseconds"),
        pytest.param("1h30m", 5400.0, id="both"),
        pytest.param("0", 0.0, id="nothing"),
    ],
)
def test_a_number_means_seconds_and_a_unit_what_it_says(written: str, seconds: float) -> None:
    assert Span(bare=True).convert(written, None, None) == seconds


@pytest.mark.parametrize("written", ["", "m", "-1s", "1 s", "two"])
def test_what_is_no_span_is_refused_with_an_example(written: str) -> None:
    with pytest.raises(click.BadParameter, match="write for example 10s or 1m30s"):
        Span(bare=True).convert(written, None, None)
