"""What remains of a set of victims when nothing superfluous is left in it.

Picks for every ground come in, that together make enough room; shares go out of which no victim
can be dropped: without any one replica the missing ones no longer fit, however they are split.
"""

from bisect import bisect_left
from collections.abc import Sequence

from atoll.scheduling.preemption.choosing import Share
from atoll.scheduling.preemption.covering import given
from atoll.scheduling.preemption.fronts import Picks
from atoll.scheduling.preemption.scene import Ground, Scene, Vector, fits, plus


def give_back(scene: Scene, picks: Sequence[Picks]) -> list[Share]:
    """The shares left when the highest priorities that can stay do stay."""
    kept = [dict(each) for each in picks]
    free = [
        plus(ground.free, given(ground, each))
        for ground, each in zip(scene.grounds, picks, strict=True)
    ]
    room = [_room(g, each, scene.demand) for g, each in zip(scene.grounds, free, strict=True)]
    spare = sum(room) - scene.missing
    for at, position in _highest_first(scene, kept):
        ground, stock = scene.grounds[at], scene.grounds[at].stock[position]
        floor = max(ground.least, room[at] - spare)

        def short(n: int, at: int = at, gives: Vector = stock.gives, floor: int = floor) -> bool:
            return _room(scene.grounds[at], plus(free[at], gives, -n), scene.demand) < floor

        back = bisect_left(range(1, kept[at][position] + 1), True, key=short)
        kept[at][position] -= back
        free[at] = plus(free[at], stock.gives, -back)
        room_left = _room(ground, free[at], scene.demand)
        spare -= room[at] - room_left
        room[at] = room_left
    return _shares(scene, room, kept)


def _highest_first(scene: Scene, kept: Sequence[dict[int, int]]) -> list[tuple[int, int]]:
    """Ground and position of what is taken, by falling priority."""
    places = [(at, position) for at, each in enumerate(kept) for position in each]
    return sorted(places, key=lambda place: -scene.grounds[place[0]].stock[place[1]].level)


def _room(ground: Ground, free: Vector, demand: Vector) -> int:
    return min(ground.most, fits(free, demand))


def _shares(scene: Scene, room: Sequence[int], kept: Sequence[dict[int, int]]) -> list[Share]:
    """The missing replicas, to the first grounds by name that have room for them."""
    shares, left = [], scene.missing
    for at, (number, picks) in enumerate(zip(room, kept, strict=True)):
        takes = min(number, left)
        left -= takes
        if takes:
            chosen = tuple(sorted((position, n) for position, n in picks.items() if n))
            shares.append(Share(at, takes, chosen))
    return shares
