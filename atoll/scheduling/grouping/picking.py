"""Which places to take: the first in order that hold all rules and, if any do, have the room.

The wish is: those that hold the work already, then as many groups as allowed, then the first in
order, as many as allowed. If those have no room for the replicas, as many of them as possible are
kept, from the first on, and the rest is made up of the roomiest. Where rules can be held at all
a selection is found, so a cluster that joins never makes one impossible.
"""

from atoll.model.intent import Pick, Shortage
from atoll.scheduling.grouping.aims import InOrder, Roomiest
from atoll.scheduling.grouping.frames import frames, relaxed
from atoll.scheduling.grouping.ground import Ground
from atoll.scheduling.grouping.search import search
from atoll.scheduling.grouping.straight import straight


def picked(pick: Pick, ground: Ground) -> list[int] | None:
    """The places to take, in order; None if the rules cannot be held.

    Whether there is room enough in what is taken is for the division to say. With partial
    placement, what is asked for at least may be left undone, for want of clusters or of room.
    """
    fallback: list[int] | None = None
    for wish in (pick, relaxed(pick)) if pick.shortage is Shortage.PARTIAL else (pick,):
        preferred = _preferred(wish, ground)
        if preferred is None:
            continue
        if ground.holds(preferred):
            return preferred
        enough, roomiest = _with_room(wish, ground, preferred)
        if enough:
            return roomiest
        fallback = fallback or roomiest
    return fallback


def _preferred(pick: Pick, ground: Ground) -> list[int] | None:
    """The best selection in order, whatever its room."""
    plain = straight(pick, ground)
    if plain is not None:
        return plain
    aim = InOrder(ground)
    best = search(ground.lots, frames(pick, ground), aim)
    return None if best is None else aim.places(best)


def _with_room(pick: Pick, ground: Ground, preferred: list[int]) -> tuple[bool, list[int]]:
    """The roomiest selection, with as many of the preferred, from the first, as leave room."""

    def roomiest(count: int) -> tuple[int, list[int]]:
        aim = Roomiest(ground, frozenset(preferred[:count]))
        best = search(ground.lots, frames(pick, ground), aim)
        assert best is not None, "what is preferred holds the rules, so there is a selection"
        return aim.best(best)

    room, chosen = roomiest(0)
    if room < ground.needed:
        return False, chosen
    low, high = 0, len(preferred)
    while high - low > 1:
        middle = (low + high) // 2
        room, places = roomiest(middle)
        if room < ground.needed:
            high = middle
        else:
            low, chosen = middle, places
    return True, chosen
