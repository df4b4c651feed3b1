"""Several who would lead, on a bad network: what one decided is never mixed with another's.

A failure names its seed, and the command that replays it.
"""

import logging
from functools import cache

import pytest

from simulation.electing import Tally, electing
from simulation.world import simulate

SEEDS = 5


@cache
def lived(seed: int) -> Tally:
    logging.disable(logging.CRITICAL)
    try:
        return simulate(electing, seed).value
    except Exception as failed:
        failed.add_note(f"replay it: python -m simulation electing --seed {seed}")
        raise
    finally:
        logging.disable(logging.NOTSET)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_leaders_write_one_after_the_other_and_never_mixed(seed):
    assert lived(seed).terms > 5


def test_leaders_are_cut_off_killed_and_late_in_these_seeds():
    told = [lived(seed) for seed in range(SEEDS)]
    assert sum(each.late for each in told) > 0
    assert sum(each.killed for each in told) > SEEDS
    assert sum(each.failed for each in told) > 0
    assert all(each.cut for each in told)
