"""The propagation bench in small: everything arrives, is told back, is counted, and moves."""

import asyncio

import pytest

from bench.planes import EVENTS, MEMBERS, PLANE
from bench.propagation import main, many_at_once, moved, one_at_a_time


def test_one_deployment_is_seen_first_somewhere_then_everywhere_then_in_the_summed_status():
    found = asyncio.run(one_at_a_time(None, 2))
    assert len(found.first) == len(found.everywhere) == len(found.told) == 2
    for first, everywhere in zip(found.first, found.everywhere, strict=True):
        assert 0 < first <= everywhere


def test_many_deployments_are_counted_with_what_they_were_written_for():
    found = asyncio.run(many_at_once(None, 4))
    assert found.count == 4
    assert found.exist_s > 0
    assert found.written(MEMBERS) >= 3 * 4
    assert found.writes["plane POST works"] == 3 * 4
    assert found.written(PLANE) > 3 * 4
    assert found.written(EVENTS) > 0


def test_a_policy_that_moves_leaves_nothing_behind():
    found = asyncio.run(moved(None, 3))
    assert 0 < found.arrived_s <= found.moved_s


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["--plane", "p", "--member", "a=k"], "at least two", id="one-member"),
        pytest.param(["--member", "a"], "NAME=KUBECONFIG", id="a-member-without-a-kubeconfig"),
    ],
)
def test_what_cannot_be_measured_is_said(arguments, said, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert said in capsys.readouterr().err
