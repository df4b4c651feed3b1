"""The real store keeps its promises on a bad disk, and the ledger would notice if it did not."""

from functools import partial

import pytest

from atoll.errors import NotDurable, StoreError
from simulation.ledger import Ledger
from simulation.storing import store_under_faults
from simulation.world import simulate


@pytest.mark.parametrize("seed", range(12))
def test_the_store_keeps_its_promises_on_a_bad_disk(seed):
    told = simulate(partial(store_under_faults, virtual_s=60.0), seed).value
    assert told.ledger.written > 300
    assert told.events > 50


def test_the_faults_do_happen():
    told = simulate(partial(store_under_faults, virtual_s=300.0), seed=0).value
    assert told.crashes > 3
    assert told.relists > 0
    assert told.ledger.refused > 0


def written(ledger: Ledger, name: str, error: Exception | None = None) -> None:
    with ledger.write(name):
        if error is not None:
            raise error


def test_a_lost_acknowledged_write_is_noticed():
    ledger = Ledger()
    written(ledger, "a")
    written(ledger, "a")
    with pytest.raises(AssertionError, match="2 were acknowledged or read, 1 are there"):
        ledger.settle({"a": 1})


def test_a_write_of_unknown_outcome_may_be_there_or_not():
    for count in (1, 2):
        ledger = Ledger()
        written(ledger, "a")
        written(ledger, "a", StoreError("unknown"))
        ledger.settle({"a": count})
        assert ledger.certain["a"] == count


def test_a_refused_write_that_is_there_all_the_same_is_noticed():
    ledger = Ledger()
    written(ledger, "a", NotDurable("full"))
    with pytest.raises(AssertionError, match="1 are there, at most 0 were written"):
        ledger.settle({"a": 1})


def test_a_reading_that_is_taken_back_is_noticed():
    ledger = Ledger()
    written(ledger, "a", StoreError("unknown"))
    ledger.read("a", 1)
    with pytest.raises(AssertionError, match="1 were acknowledged or read, 0 are there"):
        ledger.settle({})


def test_a_reading_behind_an_acknowledgement_is_noticed():
    ledger = Ledger()
    written(ledger, "a")
    with pytest.raises(AssertionError, match="read 0 of 1 certain"):
        ledger.read("a", 0)
