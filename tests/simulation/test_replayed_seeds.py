"""A life on a bad network, recorded: whoever is told of it once more decides the same.

A failure names its seed, and the command that replays the life itself.
"""

from functools import partial

import pytest

from atoll.cli.replay import set_up
from atoll.control.recording import Recording
from atoll.control.replaying import Replay
from simulation.pipeline import pipeline
from simulation.world import simulate

SEEDS = range(8)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_decided_in_a_life_is_decided_again(seed: int) -> None:
    lines: list[bytes] = []
    try:
        simulate(partial(pipeline, recording=Recording(lines.append)), seed)
    except Exception as failed:
        failed.add_note(f"replay it: python -m simulation pipeline --seed {seed}")
        raise
    found = list(Replay(set_up).steps(lines))
    assert len(found) > 100
    assert [each.number for each in found if each.differs] == []


def test_that_a_life_is_recorded_changes_nothing_in_it() -> None:
    recorded = simulate(partial(pipeline, recording=Recording([].append)), seed=3)
    assert recorded.trace == simulate(pipeline, seed=3).trace
