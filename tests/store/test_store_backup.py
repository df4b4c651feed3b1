"""Backups: taken while writes go on, checked when put back, and never misleading who saw more."""

import asyncio
import stat
from pathlib import Path

import apsw
import pytest
from disks import FileDisk, MemoryDisk, opened, put, remove

from atoll.errors import Damaged, Gone, NotDurable, UsageError
from atoll.store import backup as backups
from atoll.store.backup import back_up_stopped, restore
from atoll.store.log import RESTORE_JUMP
from atoll.store.sqlite import SqliteLog


async def filled(path, objects=20):
    """Make a store, back it up, and let it live on a little after that."""
    async with opened(SqliteLog(path)) as store:
        for n in range(objects):
            await store.write("pods", f"p{n:03}", put(f"{n}"))
        await store.write("pods", "p000", remove)
        await store.backup(path.with_name("backup.db"))
        backed_up = store.revision
        await store.write("pods", "p001", put("after the backup"))
        return backed_up, store.revision


def state(store):
    return {record.name: record.value for record in store.page("pods").records}


def test_a_backup_taken_while_writing_is_a_state_that_was(tmp_path, monkeypatch):
    """The copy is made in many steps between writes; it must still be one moment of the store."""
    monkeypatch.setattr(backups, "STEP_PAGES", 1)
    path, copy, restored = (tmp_path / name for name in ("atoll.db", "backup.db", "restored.db"))

    async def main():
        states, during = {}, []
        async with opened(SqliteLog(path), history_events=50, slice_events=20) as store:
            for n in range(300):
                await store.write("pods", f"p{n:03}", put(f"{n} " * 200))
            copying = asyncio.create_task(store.backup(copy))
            n = 0
            while not copying.done() or n < 10:
                n += 1
                gone = n % 7 == 3 and store.get("pods", f"p{n % 300:03}") is not None
                await store.write("pods", f"p{n % 300:03}", remove if gone else put(f"new {n}"))
                states[store.revision] = state(store)
                during += [] if copying.done() else [n]
            await copying
        assert len(during) > 10, "writes went on meanwhile"
        revision = restore(copy, restored) - RESTORE_JUMP
        async with opened(SqliteLog(restored)) as store:
            assert state(store) == states[revision]

    asyncio.run(main())


def test_a_backup_is_one_private_file_and_overwrites_nothing(tmp_path):
    path, copy = tmp_path / "atoll.db", tmp_path / "copies" / "backup.db"
    copy.parent.mkdir()

    async def main():
        async with opened(SqliteLog(path)) as store:
            await store.write("pods", "a", put("x"))
            await store.backup(copy)
            assert [file.name for file in copy.parent.iterdir()] == ["backup.db"]
            assert stat.S_IMODE(copy.stat().st_mode) == 0o600
            with pytest.raises(UsageError, match="exists"):
                await store.backup(copy)
            with pytest.raises(UsageError, match="No such file"):
                await store.backup(tmp_path / "none" / "backup.db")
            await store.write("pods", "a", put("y"))

    asyncio.run(main())


def test_a_backup_that_finds_no_room_says_so_and_leaves_nothing(tmp_path):
    async def main():
        disk = FileDisk(tmp_path)
        async with opened(disk.log()) as store:
            await store.write("pods", "a", put("x"))
            with disk.full(), pytest.raises(NotDurable, match=r"backup .* was not written"):
                await store.backup(tmp_path / "backup.db")
            await store.write("pods", "a", put("y"))
        assert list(tmp_path.glob("backup*")) == []

    asyncio.run(main())


def test_who_saw_more_than_the_backup_is_told_to_list_again(tmp_path):
    path = tmp_path / "atoll.db"

    async def main():
        backed_up, seen = await filled(path)
        revision = restore(tmp_path / "backup.db", path, overwrite=True)
        assert revision == seen + RESTORE_JUMP
        async with opened(SqliteLog(path)) as store:
            assert store.revision == store.oldest == revision
            assert store.get("pods", "p001").value == b"1"
            assert store.get("pods", "p000") is None
            for remembered in (backed_up - 1, backed_up, seen):
                with pytest.raises(Gone):
                    store.watch("pods", remembered)
            record = await store.write("pods", "p001", put("after the restore"))
            assert record.revision == revision + 1

    asyncio.run(main())


def test_the_memory_disk_restores_alike():
    async def main():
        log = MemoryDisk().log()
        async with opened(log) as store:
            await store.write("pods", "a", put("1"))
            await store.write("pods", "b", put("1"))
            await store.write("pods", "b", remove)
            await store.backup(Path("backup"))
            await store.write("pods", "a", put("2"))
        revision = log.restore(Path("backup"))
        assert revision == 5 + RESTORE_JUMP
        async with opened(log) as store:
            assert store.revision == store.oldest == revision
            assert state(store) == {"a": b"1"}
            with pytest.raises(Gone):
                store.watch("pods", 5)

    asyncio.run(main())


def test_each_restore_is_a_store_of_its_own(tmp_path):
    async def main():
        await filled(tmp_path / "atoll.db")
        identities = set()
        for name in ("one.db", "two.db"):
            restore(tmp_path / "backup.db", tmp_path / name)
            async with opened(SqliteLog(tmp_path / name)) as store:
                assert store.found.clean
                identities.add(store.found.identity)
        assert len(identities) == 2

    asyncio.run(main())


def test_an_existing_store_is_not_overwritten_unless_told(tmp_path):
    path = tmp_path / "atoll.db"
    asyncio.run(filled(path))
    before = path.read_bytes()
    with pytest.raises(UsageError, match="would overwrite"):
        restore(tmp_path / "backup.db", path)
    assert path.read_bytes() == before


def test_a_store_in_use_is_neither_overwritten_nor_copied_behind_its_back(tmp_path):
    path = tmp_path / "atoll.db"

    async def main():
        await filled(path)
        async with opened(SqliteLog(path)) as store:
            with pytest.raises(UsageError, match="in use"):
                restore(tmp_path / "backup.db", path, overwrite=True)
            with pytest.raises(UsageError, match="in use"):
                back_up_stopped(path, tmp_path / "other.db")
            await store.write("pods", "still", put("here"))

    asyncio.run(main())


@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        pytest.param(lambda p: p.write_bytes(b"nonsense " * 1000), Damaged, id="not-a-store"),
        pytest.param(lambda p: p.write_bytes(p.read_bytes()[:-4096]), Damaged, id="cut-short"),
        pytest.param(lambda p: p.write_bytes(b""), Damaged, id="empty"),
        pytest.param(lambda p: change_a_value(p), Damaged, id="changed"),
        pytest.param(lambda p: p.unlink(), UsageError, id="missing"),
    ],
)
def test_a_bad_backup_is_refused_and_the_store_stays_as_it_is(tmp_path, spoil, error):
    path = tmp_path / "atoll.db"
    asyncio.run(filled(path))
    spoil(tmp_path / "backup.db")
    before = path.read_bytes()
    with pytest.raises(error):
        restore(tmp_path / "backup.db", path, overwrite=True)
    assert path.read_bytes() == before
    assert list(tmp_path.glob("*.part")) == []


def change_a_value(path):
    db = apsw.Connection(str(path))
    db.execute("UPDATE log SET value = CAST('other' AS BLOB) WHERE rev = 5")
    db.close()


def test_a_damaged_store_can_be_replaced(tmp_path):
    path = tmp_path / "atoll.db"

    async def main():
        backed_up, _ = await filled(path)
        path.write_bytes(b"nonsense " * 1000)
        path.with_name("atoll.db-wal").write_bytes(b"left over")
        assert restore(tmp_path / "backup.db", path, overwrite=True) == backed_up + RESTORE_JUMP
        async with opened(SqliteLog(path)) as store:
            assert len(state(store)) == 19

    asyncio.run(main())


def test_a_store_that_was_killed_can_be_backed_up_and_replaced(tmp_path):
    async def main():
        disk = FileDisk(tmp_path)
        async with opened(disk.log()) as store:
            await store.write("pods", "a", put("x"))
            disk.crash()
        back_up_stopped(disk.path, tmp_path / "backup.db")
        restore(tmp_path / "backup.db", disk.path, overwrite=True)
        async with opened(disk.log()) as store:
            assert state(store) == {"a": b"x"}
            assert store.revision == 2 + RESTORE_JUMP

    asyncio.run(main())
