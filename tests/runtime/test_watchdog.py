"""A loop that is stuck is noticed from outside of it."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable

import pytest

from atoll.apiserver.health import Health
from atoll.runtime.children import Children
from atoll.runtime.watchdog import Watchdog

PATIENCE_S = 120.0


def wait_for(condition: Callable[[], bool]) -> None:
    """Block the thread until this is so."""
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, "it never came to that"
        time.sleep(0.01)


def within(watchdog: Watchdog, then: Callable[[], None]) -> None:
    """Do something in a loop that is watched, and let the loop go on until it is well again."""

    async def main() -> None:
        async with Children("test") as children:
            children.spawn(watchdog.run(), "watchdog")
            await asyncio.sleep(0.05)
            then()
            while watchdog.stuck():
                await asyncio.sleep(0.01)

    asyncio.run(main())


def test_a_loop_that_is_stuck_is_told_of_with_its_place(caplog: pytest.LogCaptureFixture) -> None:
    watchdog = Watchdog(beat_s=0.02, stuck_s=0.2)
    health = Health({"event-loop": watchdog.stuck}, {})
    seen: list[int] = []

    def look() -> None:
        response = health.respond("livez", "")
        assert response is not None
        seen.append(response.status)

    def hold_up_everything() -> None:
        wait_for(lambda: "hold_up_everything" in caplog.text)
        other = threading.Thread(target=look)  # whoever asks does so from elsewhere
        other.start()
        other.join()

    look()
    with caplog.at_level(logging.INFO, "atoll.runtime"):
        within(watchdog, hold_up_everything)
    look()
    assert seen == [200, 500, 200]
    (told,) = [each for each in caplog.messages if "hold_up_everything" in each]
    assert "stuck" in told


def test_a_loop_that_turns_is_well_and_says_how_late_it_is() -> None:
    watchdog = Watchdog(beat_s=0.01, stuck_s=PATIENCE_S)
    lags: list[float] = []

    async def main() -> None:
        async with Children("test") as children:
            children.spawn(watchdog.run(), "watchdog")
            await asyncio.sleep(0)
            time.sleep(0.2)
            while watchdog.lag_s < 0.1:
                await asyncio.sleep(0)
            lags.append(watchdog.lag_s)
            assert not watchdog.stuck()

    asyncio.run(main())
    assert lags[0] >= 0.1


def test_nothing_is_wrong_where_nothing_is_watched() -> None:
    assert Watchdog(stuck_s=0.001, beat_s=0.0).stuck() == ""
