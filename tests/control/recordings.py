"""Recordings kept in memory, and replayed, for tests."""

from collections import Counter
from collections.abc import Iterable

from scheduling_world import Plane

from atoll.cli.replay import set_up
from atoll.control.recording import Recording
from atoll.control.replaying import Replay, Step


class Kept(Recording):
    """A recording whose lines a test looks at."""

    def __init__(self, bytes_most: int = 2**30) -> None:
        self.lines: list[bytes] = []
        super().__init__(self.lines.append, bytes_most)


def steps(lines: Iterable[bytes]) -> list[Step]:
    return list(Replay(set_up).steps(lines))


def differing(found: Iterable[Step]) -> list[Step]:
    return [each for each in found if each.differs]


def kinds(found: Iterable[Step]) -> Counter[str]:
    """How often each kind of event came, and each kind of instruction."""
    told = Counter(type(each.event).__name__ for each in found)
    return told + Counter(next(iter(one)) for each in found for one in each.recorded)


def taped(it: Plane, recording: Recording) -> Plane:
    """A store around a scheduler, of which all that is told is recorded."""
    scheduler = it.scheduler
    made_with = {"setting": scheduler._setting, "asks_estimators": scheduler._asks_estimators}
    scheduler.handle = recording.tap("scheduler", scheduler.handle, **made_with)
    return it
