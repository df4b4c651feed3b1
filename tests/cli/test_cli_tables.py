"""Tables line up whatever is in them, and fit where they have to."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.cli.amounts import ago, count_of, hourly, monthly
from atoll.cli.rows import Widths
from atoll.cli.tables import EMPTY, FULL, Column, bar, fitting, lines, width
from atoll.effects import system_now

CELLS = st.text(st.characters(codec="utf-8"), max_size=12)


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        pytest.param("idc-bj", 6, id="ascii"),
        pytest.param("集群", 4, id="chinese"),
        pytest.param("ｗｉｄｅ", 8, id="full-width"),
        pytest.param("é", 1, id="one-character"),
        pytest.param("e\u0301", 1, id="combined"),
        pytest.param("", 0, id="nothing"),
    ],
)
def test_a_text_is_as_wide_as_a_terminal_draws_it(text: str, cells: int) -> None:
    assert width(text) == cells


def test_columns_line_up_behind_wide_characters() -> None:
    assert list(lines([["NAME", "AGE"], ["集群", "1m"], ["long-name", "2m"]])) == [
        "NAME        AGE",
        "集群        1m",
        "long-name   2m",
    ]


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n))))
def test_every_table_is_one_line_a_row_without_spaces_at_the_end(rows: list[list[str]]) -> None:
    found = list(lines(rows))
    assert len(found) == len(rows)
    assert all(len(each.splitlines()) <= 1 and each == each.rstrip() for each in found)


COLUMNS = (Column("NAME"), Column("REGION", 1), Column("TAINTS", 2))
ROWS = [["idc-bj", "cn-north", "maintenance:NoSchedule"]]


@pytest.mark.parametrize(
    ("most", "left_out"),
    [
        pytest.param(None, [], id="no-terminal"),
        pytest.param(80, [], id="wide"),
        pytest.param(30, ["TAINTS"], id="narrow"),
        pytest.param(10, ["REGION", "TAINTS"], id="very-narrow"),
        pytest.param(1, ["REGION", "TAINTS"], id="hopeless"),
    ],
)
def test_a_narrow_terminal_loses_the_least_important_first(
    most: int | None, left_out: Sequence[str]
) -> None:
    found, missing = fitting(COLUMNS, ROWS, most)
    assert missing == left_out
    assert len(found) == 2
    assert found[1].startswith("idc-bj")


@given(st.floats(0, 1e9), st.floats(0, 1e9), st.integers(1, 40))
def test_a_bar_has_its_length_and_shows_a_little_as_something(
    part: float, whole: float, length: int
) -> None:
    drawn = bar(part, whole, length)
    assert len(drawn) == length
    assert set(drawn) <= {FULL, EMPTY}
    assert (FULL in drawn) == (part > 0)


def test_rows_that_come_later_keep_the_columns_of_the_first() -> None:
    widths = Widths()
    assert widths.line(["web", "1m"]) == "web   1m"
    assert widths.line(["a-long-name", "1m"]) == "a-long-name   1m"
    assert widths.line(["web", "2m"]) == "web           2m"


@pytest.mark.parametrize(
    ("cost", "an_hour", "a_month"),
    [
        pytest.param("0.582 per hour", "0.582/h", " (≈ 425/month)", id="plain"),
        pytest.param("0.01 EUR per hour", "0.01 EUR/h", " (≈ 7.30 EUR/month)", id="currency"),
        pytest.param("not known", "not known", "", id="unknown"),
    ],
)
def test_costs_are_told_by_the_hour_and_the_month(cost: str, an_hour: str, a_month: str) -> None:
    assert (hourly(cost), monthly(cost)) == (an_hour, a_month)


def test_times_and_counts_read_well() -> None:
    now = system_now()
    assert ago(now.isoformat(), now) == "0s"
    assert ago("2020-01-01T00:00:00Z", now).endswith("d")
    assert ago("yesterday", now) == "<unknown>"
    assert [count_of(each, "cluster") for each in (0, 1, 2)] == [
        *("0 clusters", "1 cluster", "2 clusters")
    ]
