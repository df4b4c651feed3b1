"""The data file: private, held by one process, trusted only as far as it can be checked."""

import asyncio
import random
import shutil
import signal
import stat
import subprocess
import sys
from itertools import pairwise

import apsw
import pytest
from disks import FileDisk, copy_store, opened, put

from atoll.errors import Damaged, NotDurable, UsageError
from atoll.store import datafile
from atoll.store.log import Row
from atoll.store.sqlite import SqliteLog
from atoll.store.store import Store


def make_rows(first, count, size=900):
    return [
        Row(revision, "pods", f"ns/p{revision}", False, b"%d " % revision * (size // 5))
        for revision in range(first, first + count)
    ]


def written(path, groups=5, rows=3):
    """Make a closed store with so many groups, and give its rows."""

    async def main():
        log = SqliteLog(path)
        log.load()
        for n in range(groups):
            await log.append(make_rows(2 + n * rows, rows))
        await log.close()

    asyncio.run(main())
    return make_rows(2, groups * rows)


def loaded(path):
    """Open a data file, and give what it holds."""
    log = SqliteLog(path)
    found = log.load()
    asyncio.run(log.close())
    return found


def test_only_the_owner_can_read_the_files(tmp_path):
    path = tmp_path / "atoll.db"

    async def main():
        async with opened(SqliteLog(path)) as store:
            await store.write("secrets", "a", put("x"))
            for file in tmp_path.iterdir():
                assert stat.S_IMODE(file.stat().st_mode) == 0o600, file

    asyncio.run(main())
    assert {file.name for file in tmp_path.iterdir()} >= {"atoll.db", "atoll.db.lock"}


def test_a_store_that_others_could_read_is_closed_to_them(tmp_path):
    path = tmp_path / "atoll.db"
    written(path)
    path.chmod(0o644)
    loaded(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_second_opener_in_the_same_process_is_told_who_holds_the_store(tmp_path):
    path = tmp_path / "atoll.db"

    async def main():
        async with opened(SqliteLog(path)):
            with pytest.raises(UsageError, match=r"in use by process \d+"):
                SqliteLog(path).load()
        assert SqliteLog(path).load().clean

    asyncio.run(main())


HOLDER = """
import pathlib, sys
from atoll.store.sqlite import SqliteLog
log = SqliteLog(pathlib.Path(sys.argv[1]))
log.load()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_process_is_told_who_holds_the_store_until_that_one_dies(tmp_path):
    path = tmp_path / "atoll.db"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(UsageError, match=f"in use by process {holder.pid}"):
            SqliteLog(path).load()
        holder.send_signal(signal.SIGKILL)
    assert loaded(path).rows == []


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        pytest.param(lambda p: p.write_bytes(b"not a database " * 500), "damaged", id="not-sqlite"),
        pytest.param(lambda p: other_sqlite_file(p), "not a store of Atoll", id="not-ours"),
        pytest.param(lambda p: set_format(p, 2), "format 2, and this Atoll reads", id="newer"),
        pytest.param(lambda p: p.write_bytes(p.read_bytes()[:-4096]), "damaged", id="cut-short"),
        pytest.param(lambda p: p.write_bytes(b""), "it is empty", id="emptied"),
    ],
)
def test_a_file_that_cannot_be_trusted_is_refused_and_left_alone(tmp_path, spoil, message):
    path = tmp_path / "atoll.db"
    written(path)
    path.with_name("atoll.db-wal").write_bytes(b"x" if message == "it is empty" else b"")
    spoil(path)
    before = path.read_bytes()
    with pytest.raises(Damaged, match=message):
        SqliteLog(path).load()
    assert path.read_bytes() == before


def other_sqlite_file(path):
    path.unlink()
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE t(x)")
    db.close()


def set_format(path, number):
    db = apsw.Connection(str(path))
    datafile.set_meta(db, "format", number)
    db.close()


def test_a_folder_that_is_not_there_is_the_users_mistake(tmp_path):
    with pytest.raises(UsageError, match="No such file or directory"):
        SqliteLog(tmp_path / "none" / "atoll.db").load()


def test_no_changed_byte_goes_unnoticed(tmp_path):
    """Whatever byte of the file rots, it is refused, or nothing that was stored has changed."""
    path, spoilt = tmp_path / "atoll.db", tmp_path / "spoilt.db"
    rows = written(path)
    content, chance = path.read_bytes(), random.Random("rot")
    refused = 0
    for _ in range(300):
        place = chance.randrange(len(content))
        changed = bytearray(content)
        changed[place] ^= 1 << chance.randrange(8)
        for file in tmp_path.glob("spoilt.db*"):
            file.unlink()
        spoilt.write_bytes(changed)
        try:
            found = loaded(spoilt)
        except (Damaged, UsageError):
            refused += 1
        else:
            assert found.rows == rows, place
            assert (found.compacted, found.new) == (1, False)
    assert refused > 50


def test_a_torn_end_of_the_write_ahead_log_costs_only_what_was_not_acknowledged(tmp_path):
    """Cut or changed anywhere beyond an acknowledged commit, that commit and all before it stay."""
    path, torn = tmp_path / "atoll.db", tmp_path / "torn.db"
    wal, torn_wal = tmp_path / "atoll.db-wal", tmp_path / "torn.db-wal"
    ends = []

    async def main():
        log = SqliteLog(path)
        log.load()
        for n in range(6):
            await log.append(make_rows(2 + n * 3, 3))
            ends.append(wal.stat().st_size)
        copy_store(path, torn)
        await log.close()

    asyncio.run(main())
    shutil.copyfile(torn, tmp_path / "whole.db")
    content, chance = torn_wal.read_bytes(), random.Random("torn")
    assert ends[-1] == len(content)
    for acknowledged, (end, following) in enumerate(pairwise(ends), start=1):
        for place in [end, following - 1, *(chance.randrange(end, following) for _ in range(15))]:
            flipped = bytearray(content)
            flipped[place] ^= 0xFF
            for spoilt in (content[:place], bytes(flipped), content[:place] + b"\0" * 9000):
                for file in tmp_path.glob("torn.db*"):
                    file.unlink()
                shutil.copyfile(tmp_path / "whole.db", torn)
                torn_wal.write_bytes(spoilt)
                assert loaded(torn).rows == make_rows(2, 3 * acknowledged), (acknowledged, place)


def test_an_unclean_end_is_noticed_and_what_was_recovered_is_told(tmp_path):
    async def main():
        disk = FileDisk(tmp_path)
        async with opened(disk.log()) as store:
            assert str(store.found) == "a new store"
            await store.write("pods", "a", put("x"))
            disk.crash()
        store = Store.open(disk.log())
        assert not store.found.clean
        assert store.found.recovered_pages > 0
        assert "not closed in good order" in str(store.found)
        assert store.get("pods", "a").value == b"x"
        await store.close()
        store = Store.open(disk.log())
        assert store.found.clean
        assert store.found.recovered_pages == 0
        await store.close()

    asyncio.run(main())


def test_a_store_on_a_full_disk_can_be_opened_and_read(tmp_path):
    async def main():
        disk = FileDisk(tmp_path)
        async with opened(disk.log()) as store:
            for n in range(20):
                await store.write("pods", f"{n}", put("x" * 1000))
            disk.crash()
        with disk.full():
            async with opened(disk.log()) as store:
                assert len(store.page("pods").records) == 20
                with pytest.raises(NotDurable):
                    await store.write("pods", "more", put("x"))
        async with opened(disk.log()) as store:
            assert len(store.page("pods").records) == 20
            await store.write("pods", "more", put("x"))

    asyncio.run(main())
