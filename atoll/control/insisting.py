"""Asking until there is an answer: what a controller cannot begin without.

A server that is just starting, a lost request and a refusal are all the same here: a reason to ask
again a little later. Whoever asks must be able to ask twice.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from atoll.client.api import Refused
from atoll.client.transport import Unreachable

T = TypeVar("T")

log = logging.getLogger("atoll.control")

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 10.0


async def insist(
    what: str,
    ask: Callable[[], Awaitable[T]],
    *,
    despite: tuple[type[Exception], ...] = (Refused, Unreachable),
) -> T:
    """Ask again and again, with growing pauses, until it is not refused or lost."""
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            return await ask()
        except despite as failed:
            said = {"what": what, "err": failed, "again_s": pause_s}
            log.info("%(what)s: %(err)s (again in %(again_s)g s)", said)
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
