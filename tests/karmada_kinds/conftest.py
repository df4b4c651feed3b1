"""A plane with Karmada's kinds, shared by the tests of this folder; each keeps to its own names."""

import itertools
from collections.abc import Iterator

import pytest
from karmada_plane import Asking, running

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def plane() -> Iterator[Asking]:
    with running() as asking:
        yield asking


@pytest.fixture
def name() -> str:
    """A name that no other test has."""
    return f"kind-{next(_numbers)}"
