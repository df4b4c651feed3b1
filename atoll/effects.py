"""The clock and chance: the two things nobody else may reach for.

Production takes them from the system; the simulation hands in its own, so that a whole plane runs
from one seed. The event loop is the monotonic clock (asyncio.sleep, asyncio.timeout) and needs no
injection. Disk and network are ports too, but of the layers that own them: `store.log.Log` and
`client.transport.Transport`; `main.build` is handed all of them.
"""

import random
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from time import perf_counter

# RFC 9562: four bits say the version, two the variant; the other 122 are free.
_FREE_BITS = ((1 << 128) - 1) & ~(0xF << 76) & ~(0x3 << 62)
_VERSION_4 = (0x4 << 76) | (0x2 << 62)
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def stopwatch() -> float:
    """Seconds on a clock that only goes on: to measure with, never to decide by."""
    return perf_counter()


def system_now() -> datetime:
    return datetime.now(UTC)


class Chance:
    """Randomness in named streams, so that a new draw in one place does not disturb another."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._streams: dict[str, random.Random] = {}

    def of(self, name: str) -> random.Random:
        """Give the stream of this name; the same seed and name always give the same draws."""
        stream = self._streams.get(name)
        if stream is None:
            stream = self._streams[name] = random.Random(f"{self._seed}/{name}")
        return stream

    def uuid(self, stream: str) -> str:
        """Draw a random (version 4) UUID from the named stream."""
        drawn = self.of(stream).getrandbits(128) & _FREE_BITS | _VERSION_4
        digits = drawn.to_bytes(16, "big").hex()  # a UUID object would cost thrice as much
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


@dataclass(frozen=True, slots=True)
class Effects:
    """What the outside world gives: the wall clock (always UTC) and chance."""

    now: Callable[[], datetime]
    chance: Chance


def new_secret() -> str:
    """A token nobody can guess. Never from `Chance`: a seed, once known, must not lead to it."""
    return secrets.token_urlsafe(32)


def new_word(letters: int) -> str:
    """So many small letters and digits nobody can guess, where others say how a secret looks."""
    return "".join(secrets.choice(_LETTERS) for _ in range(letters))


def system_effects() -> Effects:
    """The real clock, and chance seeded by the operating system."""
    return Effects(now=system_now, chance=Chance(secrets.token_hex(16)))
