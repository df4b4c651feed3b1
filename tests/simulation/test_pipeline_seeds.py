"""The whole pipeline keeps its promises and converges, whatever happens on the way.

A failure names its seed, and the command that replays it.
"""

import logging
from functools import partial

import pytest

from simulation.pipeline import Pipeline, pipeline
from simulation.world import simulate

SEEDS = 200


def lived(seed: int) -> Pipeline:
    """A pipeline that went through all that a seed has in store; it says nothing on the way."""
    logging.disable(logging.CRITICAL)
    try:
        return simulate(pipeline, seed).value
    except Exception as failed:
        failed.add_note(f"replay it: python -m simulation pipeline --seed {seed}")
        raise
    finally:
        logging.disable(logging.NOTSET)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_pipeline_keeps_its_promises_and_converges(seed):
    assert lived(seed).hubs >= 2


def test_the_faults_of_the_pipeline_do_happen():
    it = simulate(partial(pipeline, virtual_s=20.0), seed=2).value
    told = it.sky.tally
    assert it.planes > 1
    assert it.hubs > it.planes
    assert it.cuts > 0
    assert min(told.lost_requests, told.lost_answers, told.touched, told.ended_watches) > 0
    assert it.promises.made > 0
    assert it.promises.removed > 0


def test_equal_seeds_give_equal_pipelines():
    assert len({simulate(pipeline, seed=5).trace for _ in range(2)}) == 1
