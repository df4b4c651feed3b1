"""A door has its port to itself from the first moment on, long before anybody is let in."""

import socket
from pathlib import Path

import pytest

from atoll.apiserver.door import Door
from atoll.config import Config
from atoll.effects import system_now
from atoll.errors import UsageError


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_two_that_start_at_the_same_time_get_ports_of_their_own(tmp_path: Path) -> None:
    port = free_port()
    first, second = Config(tmp_path / "a"), Config(tmp_path / "b")
    for config in (first, second):
        config.data_dir.mkdir()
    with (
        Door("a", first, system_now, first_port=port) as one,
        Door("b", second, system_now, first_port=port) as two,
    ):
        assert (one.port, one.busy_port) == (port, None)
        assert two.port != port
        assert two.busy_port == port
        insists = Config(tmp_path / "c", port=port)
        with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1:{port}; address already"):
            Door("c", insists, system_now)
        with socket.create_connection(("127.0.0.1", port), timeout=60):
            pass  # who comes early waits, and is not refused
