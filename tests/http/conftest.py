"""A real server on a loopback port, with TLS, and the certificates to talk to it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from atoll.apiserver.certificates import ensure_credentials
from atoll.apiserver.credentials import Credentials


@pytest.fixture(scope="session")
def credentials(tmp_path_factory: pytest.TempPathFactory) -> Credentials:
    directory: Path = tmp_path_factory.mktemp("pki") / "pki"
    return ensure_credentials(directory, datetime.now(UTC))


@pytest.fixture(params=["asyncio", "uvloop"])
def loop_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)
