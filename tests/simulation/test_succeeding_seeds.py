"""Leaders of a whole plane follow one another, and what an old one sent arrives late: no harm.

A failure names its seed, and the command that replays it.
"""

import logging
from functools import cache

import pytest

from simulation.succeeding import Succession, succeeding
from simulation.world import simulate

SEEDS = 2


@cache
def lived(seed: int) -> Succession:
    logging.disable(logging.CRITICAL)
    try:
        return simulate(succeeding, seed).value
    except Exception as failed:
        failed.add_note(f"replay it: python -m simulation succeeding --seed {seed}")
        raise
    finally:
        logging.disable(logging.NOTSET)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_nothing_is_lost_or_deleted_when_leaders_follow_one_another(seed):
    assert lived(seed).terms > 1


def test_writes_are_refused_for_being_late_in_these_seeds():
    assert all(lived(seed).conflicts for seed in range(SEEDS))
