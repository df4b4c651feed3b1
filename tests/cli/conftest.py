"""A user with a home directory, whose servers are stopped when the test is over."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from running import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A user whose server is not running yet."""
    home = tmp_path / "home"
    home.mkdir()
    user = Shell(home)
    yield user
    user.clean_up()


@pytest.fixture(scope="module")
def running_shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A user whose server is running, for tests that leave it so."""
    user = Shell(tmp_path_factory.mktemp("home"))
    user.up()
    yield user
    user.clean_up()
