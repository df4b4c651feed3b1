"""The slope of cost against size, how sure it is, and the growth bench in small."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.growth.__main__ import main
from bench.growth.cases import ALIKE, COMPARED, SHAPES
from bench.growth.slopes import exponent, middles, ratio, slope, student

SIZES = (100, 300, 1_000)
exponents = st.floats(-1, 3)
factors = st.floats(0.01, 100)


@given(exponents, factors, st.lists(st.integers(1, 10_000), min_size=2, max_size=6, unique=True))
def test_the_exponent_of_a_power_is_found_whatever_its_unit(power, factor, sizes):
    assert exponent({size: factor * size**power for size in sizes}) == pytest.approx(
        power, abs=1e-6
    )


@given(st.lists(factors, min_size=2, max_size=12))
def test_what_slows_down_a_whole_round_does_not_change_the_slope(speeds):
    rounds = [{size: speed * size**0.5 for size in SIZES} for speed in speeds]
    found = slope(rounds)
    assert (found.exponent, found.low, found.high) == pytest.approx((0.5, 0.5, 0.5), abs=1e-6)


@given(st.lists(st.tuples(factors, factors, factors), min_size=2, max_size=12))
def test_the_exponent_lies_within_its_confidence_and_more_rounds_of_the_same_narrow_it(costs):
    rounds = [dict(zip(SIZES, each, strict=True)) for each in costs]
    found, twice = slope(rounds), slope(rounds * 2)
    assert found.low <= found.exponent <= found.high
    assert twice.exponent == pytest.approx(found.exponent, abs=1e-9)
    assert twice.high - twice.low <= found.high - found.low + 1e-9


@given(st.lists(st.tuples(factors, factors), min_size=2, max_size=12))
def test_a_ratio_is_the_same_whatever_slows_down_a_round_and_whoever_comes_first(speeds):
    rounds = [{"one": 3 * speed, "other": 2 * speed} for speed, _ in speeds]
    found = ratio(rounds, "one", "other")
    assert (found.times, found.low, found.high) == pytest.approx((1.5, 1.5, 1.5))
    rounds = [{"one": one, "other": other} for one, other in speeds]
    found, turned = ratio(rounds, "one", "other"), ratio(rounds, "other", "one")
    assert found.low <= found.times * (1 + 1e-9)
    assert found.times <= found.high * (1 + 1e-9)
    assert found.times * turned.times == pytest.approx(1)
    assert found.low * turned.high == pytest.approx(1)


def test_one_round_says_nothing_for_sure_of_a_ratio():
    found = ratio([{"one": 3.0, "other": 2.0}], "one", "other")
    assert (found.times, found.low, found.high) == (pytest.approx(1.5), 0.0, inf)


def test_the_confidence_is_that_of_students_distribution():
    costs = [{1: 1.0, 10: 1.0}, {1: 1.0, 10: 10.0}]
    found = slope(costs)
    assert found.exponent == pytest.approx(0.5)
    assert found.high - found.exponent == pytest.approx(12.71 * 0.5)


def test_one_round_says_nothing_for_sure():
    found = slope([{1: 1.0, 10: 10.0}])
    assert (found.exponent, found.low, found.high) == (pytest.approx(1.0), -inf, inf)


def test_fewer_rounds_need_more_room_for_the_same_confidence():
    found = [student(freedom) for freedom in range(1, 40)]
    assert found == sorted(found, reverse=True)
    assert found[-1] == 1.96


@pytest.mark.parametrize(
    ("power", "spread", "expected"),
    [
        pytest.param(0.0, 0.0, "follows what changes", id="flat"),
        pytest.param(0.1, 0.0, "follows what changes", id="next-to-flat"),
        pytest.param(0.1, 0.5, "follows what changes, as far as can be said", id="unsteady"),
        pytest.param(0.5, 0.0, "grows with what is there", id="a-square-root"),
        pytest.param(1.0, 0.0, "grows with what is there", id="linear"),
        pytest.param(2.0, 0.0, "above linear", id="quadratic"),
    ],
)
def test_a_verdict_goes_by_what_is_sure(power, spread, expected):
    rounds = [
        {size: size ** (power + each) for size in SIZES} for each in (-spread, 0.0, spread, 0.0)
    ]
    assert slope(rounds).verdict == expected


def test_the_cost_told_is_the_middle_of_its_rounds():
    assert middles([{1: 1.0, 2: 5.0}, {1: 9.0, 2: 6.0}, {1: 2.0, 2: 7.0}]) == {1: 2.0, 2: 6.0}


def test_every_change_of_a_shape_is_told_with_its_costs_and_its_slope(capsys):
    assert main(["--only", "overrides", "--sizes", "2,4", "--rounds", "2"]) == 0
    told = capsys.readouterr().out
    for said in ("overrides: ms of CPU for", "of 2", "of 4", "an override changed", " to "):
        assert said in told


def test_what_is_of_its_own_is_held_against_what_is_shared(capsys):
    assert main(["--only", "ratios", "--sizes", "3", "--rounds", "1"]) == 0
    told = capsys.readouterr().out
    for said in ("3 Deployments that have", *COMPARED.values(), "a Deployment made", "times"):
        assert said in told


def test_every_dimension_is_there_and_those_compared_are_changed_in_the_same_ways():
    assert {"bindings", "demands", "policies", "overrides", "namespaces", "clusters"} <= {*SHAPES}
    for shape in COMPARED:
        assert {"a Deployment scaled", "a Deployment made"} <= {*SHAPES[shape].changes}
        assert {"a Deployment scaled", "a Deployment made"} <= {*SHAPES[ALIKE].changes}
    for shape in SHAPES.values():
        assert "a Deployment made" not in [*shape.changes][:-1], "it changes how much there is"


def test_a_shape_that_there_is_not_is_refused_with_those_there_are(capsys):
    with pytest.raises(SystemExit):
        main(["--only", "moons"])
    assert "moons is none of bindings; demands" in capsys.readouterr().err
