"""Backups: made while the store is written to, checked before they replace anything."""

import asyncio

import pytest
from disks import opened, put, remove

from atoll.errors import Damaged, Gone, UsageError
from atoll.store.backup import back_up_stopped, restore
from atoll.store.log import RESTORE_JUMP
from atoll.store.sqlite import SqliteLog
from atoll.store.store import Store


def objects_of(store: Store) -> dict[str, bytes]:
    return {record.name: record.value for record in store.page("pods").records}


def fill(path, count=20):
    """Make a closed store with so many objects, some of them removed again; give its revision."""

    async def main():
        async with opened(SqliteLog(path)) as store:
            for number in range(count):
                await store.write("pods", f"ns/p{number}", put(f"value {number}"))
            await store.write("pods", "ns/p0", remove)
            return store.revision, objects_of(store)

    return asyncio.run(main())


def test_a_running_store_is_backed_up_as_of_one_moment(tmp_path):
    path, copy = tmp_path / "atoll.db", tmp_path / "copy.atoll"

    async def main():
        async with opened(SqliteLog(path)) as store:
            for number in range(2_000):
                await store.write("pods", f"ns/p{number % 50}", put(f"{number} " + "x" * 500))
            before = store.revision

            async def go_on():
                for number in range(300):
                    await store.write("pods", "ns/busy", put(f"{number}"))

            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(go_on())
                backup = tasks.create_task(store.backup(copy))
            assert backup.done()
            return before, store.revision

    before, after = asyncio.run(main())
    revision = restore(copy, tmp_path / "restored.db")
    assert before + RESTORE_JUMP <= revision <= after + RESTORE_JUMP

    async def read():
        async with opened(SqliteLog(tmp_path / "restored.db")) as store:
            return objects_of(store), store.revision

    objects, at = asyncio.run(read())
    assert len(objects) in (50, 51)
    assert all(value.endswith(b"x" * 500) for name, value in objects.items() if name != "ns/busy")
    assert at >= revision


def test_a_restored_store_goes_on_beyond_what_clients_have_seen(tmp_path):
    path, copy = tmp_path / "atoll.db", tmp_path / "copy.atoll"
    revision, objects = fill(path)
    back_up_stopped(path, copy)
    later, _ = fill(path, 40)
    assert restore(copy, path, overwrite=True) >= later + RESTORE_JUMP

    async def main():
        async with opened(SqliteLog(path)) as store:
            assert objects_of(store) == objects
            with pytest.raises(Gone):
                store.watch("pods", later)
            record = await store.write("pods", "ns/new", put("x"))
            assert record.revision > later + RESTORE_JUMP

    asyncio.run(main())
    assert revision < later


def test_a_store_is_not_overwritten_unasked(tmp_path):
    path, copy = tmp_path / "atoll.db", tmp_path / "copy.atoll"
    fill(path)
    back_up_stopped(path, copy)
    before = path.read_bytes()
    with pytest.raises(UsageError, match="would overwrite it"):
        restore(copy, path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("spoil", ["cut", "changed", "not ours", "missing"])
def test_a_bad_backup_replaces_nothing(tmp_path, spoil):
    path, copy = tmp_path / "atoll.db", tmp_path / "copy.atoll"
    _, objects = fill(path)
    back_up_stopped(path, copy)
    content = bytearray(copy.read_bytes())
    match spoil:
        case "cut":
            copy.write_bytes(content[: len(content) // 2])
        case "changed":
            at = content.index(b"value 7")
            content[at] ^= 1
            copy.write_bytes(content)
        case "not ours":
            copy.write_bytes(b"a text")
        case "missing":
            copy.unlink()
    with pytest.raises((Damaged, UsageError)):
        restore(copy, path, overwrite=True)

    async def main():
        async with opened(SqliteLog(path)) as store:
            return objects_of(store)

    assert asyncio.run(main()) == objects
    assert [file.name for file in tmp_path.iterdir() if file.name.endswith(".part")] == []


def test_a_store_in_use_is_not_replaced(tmp_path):
    path, copy = tmp_path / "atoll.db", tmp_path / "copy.atoll"
    fill(path)
    back_up_stopped(path, copy)

    async def main():
        async with opened(SqliteLog(path)):
            with pytest.raises(UsageError):
                restore(copy, path, overwrite=True)

    asyncio.run(main())
