"""Certificates for all tests of clients, and servers that end with the test."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from threads import Serve, Serving

from atoll.apiserver.certificates import ensure_credentials
from atoll.apiserver.credentials import Credentials
from atoll.exchange import Handler


@pytest.fixture(scope="session")
def credentials(tmp_path_factory: pytest.TempPathFactory) -> Credentials:
    return ensure_credentials(tmp_path_factory.mktemp("pki"), datetime.now(UTC))


@pytest.fixture
def serve(credentials: Credentials) -> Iterator[Serve]:
    """Put a handler behind TLS."""
    started: list[Serving] = []

    def start(handler: Handler) -> Serving:
        started.append(Serving(handler, credentials))
        return started[-1]

    yield start
    for each in started:
        each.stop()
