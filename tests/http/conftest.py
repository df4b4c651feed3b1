"""A real server on a loopback port, with TLS, and the certificates to talk to it."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from atoll.apiserver.certificates import ensure_credentials
from atoll.apiserver.credentials import Credentials
from tests.http.talking import THROUGH_GATE


@pytest.fixture(scope="session")
def credentials(tmp_path_factory: pytest.TempPathFactory) -> Credentials:
    directory: Path = tmp_path_factory.mktemp("pki") / "pki"
    return ensure_credentials(directory, datetime.now(UTC))


@pytest.fixture(params=["asyncio", "uvloop"])
def loop_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["at once", "through a gate"])
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test twice: with the handler behind HTTP itself, and behind a line to it."""
    token = THROUGH_GATE.set(request.param == "through a gate")
    yield
    THROUGH_GATE.reset(token)
