"""The two disks every test of the store's behaviour runs over."""

from pathlib import Path

import pytest
from disks import Disk, FileDisk, MemoryDisk


@pytest.fixture(params=["file", "memory"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    return FileDisk(tmp_path / "disk") if request.param == "file" else MemoryDisk()
