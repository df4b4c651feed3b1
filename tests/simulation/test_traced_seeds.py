"""On a bad network, with lives cut short, a plane that is traced does just what it does else."""

import logging
from functools import partial

import pytest

from simulation.pipeline import pipeline
from simulation.world import simulate

SEEDS = 12


@pytest.mark.parametrize("seed", range(SEEDS))
def test_tracing_changes_nothing_of_what_happens(seed, caplog):
    caplog.set_level(logging.CRITICAL)
    quiet, traced = (simulate(partial(pipeline, traced=each), seed=seed) for each in (False, True))
    assert traced.value.spans
    assert traced.trace == quiet.trace
