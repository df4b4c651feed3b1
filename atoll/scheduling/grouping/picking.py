"""Which places to take: the first in order that hold all rules and, if any do, have the room.

The wish is: those that hold the work already, then as many groups as allowed, then the first in
order, as many as allowed. With several rules at once it is what taking one after the other leads
to, if that holds them all. If those have no room for the replicas, as many of them as possible are
kept, from the first on, and the rest is made up of the roomiest. Where rules can be held at all
a selection is found, so a cluster that joins never makes one impossible.
"""

from atoll.model.intent import Pick, Shortage
from atoll.scheduling.grouping import by_sizes
from atoll.scheduling.grouping.aims import InOrder, Roomiest
from atoll.scheduling.grouping.frames import frames, relaxed
from atoll.scheduling.grouping.ground import Ground
from atoll.scheduling.grouping.search import TooManyWays, search
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
    if by_sizes.applies(pick):
        return by_sizes.by_sizes(pick, ground)
    plain = straight(pick, ground)
    if plain is not None:
        return plain
    aim = InOrder(ground)
    best = search(ground.lots, frames(pick, ground), aim)
    return None if best is None else aim.places(best)


def _with_room(pick: Pick, ground: Ground, preferred: list[int]) -> tuple[bool, list[int]]:
    """Whether a selection has room, and the one that keeps most of the preferred, first ones
    first; else the roomiest."""
    enough, chosen = _keeping([], pick, ground)
    if not enough:
        return False, chosen or preferred
    low, high = 0, len(preferred)
    while high - low > 1:
        middle = (low + high) // 2
        enough, places = _keeping(preferred[:middle], pick, ground)
        if enough:
            low, chosen = middle, places
        else:
            high = middle
    return True, chosen


def _keeping(kept: list[int], pick: Pick, ground: Ground) -> tuple[bool, list[int]]:
    """A selection with these in it that has room, or the roomiest there is.

    To take one roomy cluster after the other mostly leads to one. If not, all ways are looked at;
    if these are too many, there is none to be found.
    """
    others = sorted(set(range(len(ground))).difference(kept), key=lambda i: (-ground.most[i], i))
    order = kept + others
    by_room = _preferred(pick, ground.reordered(order, len(kept)))
    places = sorted(order[place] for place in by_room or [])
    if ground.holds(places) and set(kept) <= set(places):
        return True, places
    if kept and _room_at_most(order, len(kept), pick, ground) < ground.needed:
        return False, []
    aim = Roomiest(ground, frozenset(kept))
    try:
        best = search(ground.lots, frames(pick, ground), aim)
    except TooManyWays:
        return False, []
    room, places = aim.best(best) if best is not None else (0, [])
    return best is not None and room == ground.needed, places


def _room_at_most(order: list[int], kept: int, pick: Pick, ground: Ground) -> int:
    """The room of those kept and of the roomiest others, were there no rules."""
    end = len(order) if pick.most is None else max(kept, pick.most)
    return int(ground.most[order[:end]].sum())
