"""The API server keeps its promises to clients, over refusals and crashes, from a seed."""

from functools import partial

import pytest

from simulation.serving import api_under_clients
from simulation.world import simulate


@pytest.mark.parametrize("seed", range(6))
def test_the_api_server_keeps_its_promises_on_a_bad_disk(seed):
    told = simulate(partial(api_under_clients, virtual_s=30.0), seed).value
    assert told.ledger.written > 100
    assert told.events > 100


def test_the_faults_of_the_api_scenario_do_happen():
    told = simulate(partial(api_under_clients, virtual_s=150.0), seed=0).value
    assert told.crashes > 0
    assert told.conflicts > 0
    assert told.ledger.refused > told.conflicts
