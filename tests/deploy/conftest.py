"""A host of these tests' own: they remove kinds and namespaces that others would miss."""

from collections.abc import Iterator

import pytest
from hosts import Host

from testenv.cluster import kubernetes as start_kubernetes


@pytest.fixture(scope="session")
def own_host() -> Iterator[Host]:
    with start_kubernetes() as cluster:
        host = Host(cluster)
        yield host
        host.close()


@pytest.fixture
def host(own_host: Host) -> Iterator[Host]:
    """A real API server on which nothing is installed, before and after."""
    yield own_host
    own_host.clear()


@pytest.fixture(scope="module")
def used_host(own_host: Host) -> Iterator[Host]:
    """One with an installation, a cluster and a delivery, for tests that go on where others end."""
    own_host.install()
    own_host.register()
    own_host.deliver()
    yield own_host
    own_host.clear()
