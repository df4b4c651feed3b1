"""Clients as others have written them, let loose on our plane in a process of its own."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("processes")

from processes import Plane  # noqa: E402 (its assertions are to be explained)

from testenv.build import FOLLOWER, KARMADACTL, Recipe, find  # noqa: E402
from testenv.errors import Unavailable  # noqa: E402


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """A running plane; whoever stops it starts it again."""
    made = Plane(tmp_path_factory.mktemp("plane"))
    made.up()
    yield made
    made.down()


@pytest.fixture(scope="session")
def follower() -> Path:
    return _built(FOLLOWER, "follower")


@pytest.fixture(scope="session")
def karmadactl() -> Path:
    return _built(KARMADACTL, "karmadactl")


def _built(recipe: Recipe, name: str) -> Path:
    try:
        return find(recipe).directory / name
    except Unavailable as missing:
        if os.environ.get("ATOLL_REQUIRE_TESTENV") == "1":
            pytest.fail(str(missing), pytrace=False)
        pytest.skip(str(missing))
