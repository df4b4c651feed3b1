"""Clusters are lost for long: what they had runs elsewhere before it is given up.

A failure names its seed, and the command that replays it.
"""

import logging
from functools import cache

import pytest

from simulation.losing import Losses, losing
from simulation.world import simulate

SEEDS = 4


@cache
def lived(seed: int) -> Losses:
    """What became of a plane that lost clusters; it says nothing on the way."""
    logging.disable(logging.CRITICAL)
    try:
        return simulate(losing, seed).value
    except Exception as failed:
        failed.add_note(f"replay it: python -m simulation losing --seed {seed}")
        raise
    finally:
        logging.disable(logging.NOTSET)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_what_is_lost_runs_elsewhere_before_it_is_given_up(seed):
    assert lived(seed).lost > 0


def test_clusters_are_left_and_copies_are_given_up_in_these_seeds():
    told = [lived(seed) for seed in range(SEEDS)]
    assert sum(each.begun for each in told) > SEEDS
    assert sum(each.removed for each in told) > SEEDS
