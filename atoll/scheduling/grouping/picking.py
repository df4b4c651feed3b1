"""Which places to take: the first in order that hold all rules and, if any do, have the room.

The wish is: those that hold the work already, then as many groups as allowed, then the first in
order, as many as allowed. With several rules at once it is what taking one after the other leads
to, if that holds them all. If those have no room for the replicas, as many of them as possible are
kept, from the first on, and the next in order that have the room take the place of the others.

Where the rules can be held, and where there is room, a selection is found, so that a cluster that
joins never makes one impossible: unless rules cross in more ways than `search` looks at.
"""

from atoll.model.intent import Pick, Shortage
from atoll.scheduling.grouping import by_sizes
from atoll.scheduling.grouping.aims import InOrder, Roomiest
from atoll.scheduling.grouping.frames import frames, relaxed
from atoll.scheduling.grouping.ground import Ground
from atoll.scheduling.grouping.search import STEPS_MOST, TooManyWays, search
from atoll.scheduling.grouping.straight import straight

_TRIES_MOST = 32
"""How many clusters are tried, in order, in the place of those that make way."""

_STEPS_TO_KEEP, _STEPS_TO_TRY = 20_000, 2_000
"""How far to search for a selection that keeps more of the preferred: a tenth, a hundredth of a
second. That there is one at all is searched for as far as ever."""


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


def _preferred(pick: Pick, ground: Ground, steps: int = STEPS_MOST) -> list[int] | None:
    """The best selection in order, whatever its room."""
    if by_sizes.applies(pick):
        return by_sizes.by_sizes(pick, ground)
    plain = straight(pick, ground)
    if plain is not None:
        return plain
    aim = InOrder(ground)
    best = search(ground.lots, frames(pick, ground), aim, steps)
    return None if best is None else aim.places(best)


def _with_room(pick: Pick, ground: Ground, preferred: list[int]) -> tuple[bool, list[int]]:
    """Whether a selection has room, and the one that keeps most of the preferred, first ones
    first, and goes on in order; else the roomiest."""
    enough, chosen = _keeping([], pick, ground)
    if not enough:
        return False, chosen or preferred
    low, high = 0, len(preferred)
    while high - low > 1:
        middle = (low + high) // 2
        enough, places = _keeping(preferred[:middle], pick, ground, _STEPS_TO_KEEP)
        if enough:
            low, chosen = middle, places
        else:
            high = middle
    return True, _continued(preferred[:low], chosen, pick, ground)


def _continued(kept: list[int], chosen: list[int], pick: Pick, ground: Ground) -> list[int]:
    """A selection with those kept in it that has room, and comes early in order beyond them.

    Only so many are tried; what is then chosen of the rest are the roomiest.
    """
    tries, room = _TRIES_MOST, ground.most.tolist()
    lacking = _lacking(kept, 1, pick, ground)
    for place in range(len(ground)):
        if tries == 0 or len(kept) == pick.most:
            break
        if place in kept or room[place] < lacking:
            continue
        tries -= 1
        enough, places = _keeping([*kept, place], pick, ground, _STEPS_TO_TRY)
        if enough:
            kept, chosen = [*kept, place], places
            lacking = _lacking(kept, 1, pick, ground)
    return chosen


def _keeping(
    kept: list[int], pick: Pick, ground: Ground, steps: int = STEPS_MOST
) -> tuple[bool, list[int]]:
    """A selection with these in it that has room, or the roomiest there is.

    To take one roomy cluster after the other mostly leads to one. If not, all ways are looked at;
    if these are too many, there is none to be found.
    """
    if kept and _lacking(kept, 0, pick, ground) > 0:
        return False, []
    order, aim = _roomiest_after(kept, ground), Roomiest(ground, frozenset(kept))
    try:
        by_room = _preferred(pick, ground.reordered(order, len(kept)), steps)
        places = sorted(order[place] for place in by_room or [])
        if ground.holds(places) and set(kept) <= set(places):
            return True, places
        best = search(ground.lots, frames(pick, ground), aim, steps)
    except TooManyWays:
        return False, []
    room, places = aim.best(best) if best is not None else (0, [])
    return best is not None and room == ground.needed, places


def _lacking(kept: list[int], more: int, pick: Pick, ground: Ground) -> int:
    """How much room is lacking at least, were there no rules, with so many more to be added."""
    end = len(ground) if pick.most is None else max(len(kept), pick.most - more)
    return ground.needed - int(ground.most[_roomiest_after(kept, ground)[:end]].sum())


def _roomiest_after(kept: list[int], ground: Ground) -> list[int]:
    """Those kept, then all others, the roomiest first."""
    inside = set(kept)
    return kept + [place for place in ground.by_room if place not in inside]
