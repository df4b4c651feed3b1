"""Users take turns: whoever asks for much waits for himself, not others for him."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from atoll.apiserver.status import ApiError
from atoll.apiserver.turns import AT_ONCE, READERS_WAITING_MAX, SHARE, Places, Turns
from atoll.config import RequestLimits

PLACES = 8
MINE = PLACES // SHARE  # places that one user may have


@asynccontextmanager
async def taken(places: Places, user: str) -> AsyncIterator[None]:
    """A place, as the server takes one for a request."""
    if not places.take(user):
        await places.wait_for(user)
    try:
        yield
    finally:
        places.give_back(user)


class Crowd:
    """Requests that stay until they are let go, and the order in which their turns came."""

    def __init__(self) -> None:
        self.turns = Turns(RequestLimits(max_requests_inflight=PLACES))
        self.begun: list[str] = []
        self.go_on = asyncio.Event()

    async def ask(self, user: str, *, writing: bool = False) -> int:
        try:
            async with taken(self.turns.writing if writing else self.turns.reading, user):
                self.begun.append(user)
                await self.go_on.wait()
        except ApiError as refusal:
            return refusal.code
        return 200


@asynccontextmanager
async def crowd() -> AsyncIterator[tuple[Crowd, asyncio.TaskGroup]]:
    it = Crowd()
    async with asyncio.TaskGroup() as group:
        yield it, group
        it.go_on.set()


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_one_user_has_but_a_share_of_the_places() -> None:
    async def main() -> None:
        async with crowd() as (it, group):
            for _ in range(PLACES):
                group.create_task(it.ask("greedy"))
            await settled()
            assert it.begun == ["greedy"] * MINE
            group.create_task(it.ask("modest"))
            group.create_task(it.ask("greedy", writing=True))
            await settled()
            assert it.begun[MINE:] == ["modest", "greedy"], "and writers have their own"
        assert it.begun.count("greedy") == PLACES + 1, "in the end all had their turn"

    asyncio.run(main())


def test_users_take_turns_when_places_are_short() -> None:
    async def main() -> None:
        async with crowd() as (it, group):
            for user in "abcd":
                for _ in range(3):
                    group.create_task(it.ask(user))
            await settled()
            assert sorted(it.begun) == ["a", "a", "b", "b", "c", "c", "d", "d"]
        assert sorted(it.begun[PLACES:]) == ["a", "b", "c", "d"]

    asyncio.run(main())


def test_haste_does_not_come_before_others() -> None:
    """However many requests one user has, few are begun before another's is looked at."""

    async def main() -> None:
        turns, begun = Turns(), []

        async def ask(user: str) -> None:
            async with taken(turns.reading, user):
                begun.append(user)

        async with asyncio.TaskGroup() as group:
            for _ in range(100):
                group.create_task(ask("greedy"))
            group.create_task(ask("modest"))
        assert begun.index("modest") <= AT_ONCE
        assert len(begun) == 101

    asyncio.run(main())


def test_who_waits_with_too_much_is_told_to_come_again() -> None:
    async def main() -> None:
        async with crowd() as (it, group):
            asked = [
                group.create_task(it.ask("greedy")) for _ in range(MINE + READERS_WAITING_MAX + 5)
            ]
            await settled()
            refused = [task for task in asked if task.done()]
            assert [task.result() for task in refused] == [429] * 5
            other = group.create_task(it.ask("modest"))
            await settled()
            assert it.begun[-1] == "modest"
        assert other.result() == 200

    asyncio.run(main())


@pytest.mark.parametrize("when", ["waiting", "just granted"])
def test_who_gives_up_leaves_no_place_taken(when: str) -> None:
    async def main() -> None:
        it = Crowd()
        holding = [asyncio.ensure_future(it.ask("u")) for _ in range(MINE)]
        waiting = [asyncio.ensure_future(it.ask("u")) for _ in range(5)]
        await settled()
        if when == "just granted":
            it.go_on.set()
            await asyncio.gather(*holding)
        for task in waiting:
            task.cancel()
        it.go_on.set()
        await asyncio.gather(*holding, *waiting, return_exceptions=True)
        it.begun.clear()
        again = [asyncio.ensure_future(it.ask("u")) for _ in range(MINE)]
        assert await asyncio.gather(*again) == [200] * MINE
        assert it.begun == ["u"] * MINE

    asyncio.run(main())
