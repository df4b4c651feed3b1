"""The audit log on disk: whole lines, files put aside, and a disk that takes no more."""

import json
import logging
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from atoll.runtime.log_file import WAITING_MAX, LogFile, Rotation

START = datetime(2030, 1, 1, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(hours=1)
        return self.now


def line(number: int) -> bytes:
    return json.dumps({"n": number, "padding": "x" * 80}).encode() + b"\n"


def written(path: Path, rotation: Rotation, count: int) -> None:
    log = LogFile(path, rotation, Clock())
    for number in range(count):
        log.write(line(number))
    log.close()
    assert (log.written, log.lost) == (count, 0)


def numbers(*paths: Path) -> list[int]:
    return [json.loads(each)["n"] for path in paths for each in path.read_text().splitlines()]


def test_lines_come_in_order_and_later_ones_follow(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    written(path, Rotation(), 3)
    written(path, Rotation(), 2)
    assert numbers(path) == [0, 1, 2, 0, 1]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_large_file_is_put_aside_and_no_line_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    written(path, Rotation(bytes_max=250), 7)
    aside = sorted(tmp_path.glob("audit-*.log"))
    assert aside[0].name == "audit-2030-01-01T01-00-00.000.log"
    assert numbers(*aside, path) == list(range(7))
    assert all(each.stat().st_size <= 250 for each in [*aside, path])


def test_only_so_many_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    other = tmp_path / "audit-of-somebody-else.log"
    other.write_text("mine")
    written(path, Rotation(bytes_max=250, kept_max=2), 20)
    aside = sorted(set(tmp_path.glob("audit-2*.log")))
    assert len(aside) == 2
    assert numbers(*aside, path) == list(range(20))[-len(numbers(*aside, path)) :]
    assert other.read_text() == "mine"


def test_what_is_too_old_goes(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    old = (
        tmp_path / f"audit-{(START - timedelta(days=9)).strftime('%Y-%m-%dT%H-%M-%S.%f')[:-3]}.log"
    )
    new = (
        tmp_path / f"audit-{(START - timedelta(days=1)).strftime('%Y-%m-%dT%H-%M-%S.%f')[:-3]}.log"
    )
    for each in (old, new):
        each.write_text("")
    written(path, Rotation(bytes_max=250, days_max=5), 5)
    assert not old.exists()
    assert new.exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full disk")
def test_a_full_disk_is_told_once_and_loses_lines_not_requests(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "audit.log"
    path.symlink_to("/dev/full")
    with caplog.at_level(logging.WARNING, "atoll.runtime"):
        log = LogFile(path, Rotation(), Clock())
        for number in range(10):
            log.write(line(number))
        log.close()
    assert (log.written, log.lost) == (0, 10)
    (record,) = caplog.records
    assert "No space left on device" in record.getMessage()


def test_lines_that_cannot_wait_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    log = LogFile(path, Rotation(), Clock())
    for number in range(2 * WAITING_MAX):
        log.write(line(number))
    assert log.lost > 0
    os.close(reader)
    log.close()


def test_a_place_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file or directory"):
        LogFile(tmp_path / "nowhere" / "audit.log", Rotation(), Clock())
