"""The whole pipeline keeps its promises and converges, whatever happens on the way.

A failure names its seed: `python -m simulation pipeline --virtual-s 8 --seed N` replays it.
"""

from functools import partial

import pytest

from simulation.pipeline import pipeline
from simulation.world import simulate

SHORT = partial(pipeline, virtual_s=8.0)


@pytest.mark.parametrize("seed", range(16))
def test_the_pipeline_keeps_its_promises_and_converges(seed):
    it = simulate(SHORT, seed).value
    assert it.hubs >= 2
    assert it.promises.checked > 0


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
    assert len({simulate(SHORT, seed=5).trace for _ in range(2)}) == 1
