"""Which places are taken, held against looking at every subset there is."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from atoll.model.affinity import Affinity
from atoll.model.intent import Group, Pick, Quota, Shortage
from atoll.scheduling.grouping import by_sizes
from atoll.scheduling.grouping.aims import InOrder
from atoll.scheduling.grouping.frames import frames
from atoll.scheduling.grouping.ground import Ground
from atoll.scheduling.grouping.picking import picked
from atoll.scheduling.grouping.search import TooManyWays, search
from atoll.scheduling.grouping.straight import is_best, straight
from atoll.scheduling.sharing import usable

Chosen = tuple[int, ...]


def between(least: int, number: int, most: int | None) -> bool:
    return number >= least and (most is None or number <= most)


def holds(pick: Pick, ground: Ground, chosen: Chosen) -> bool:
    """The rules, word for word."""
    if not between(max(pick.least, 1), len(chosen), pick.most):
        return False
    for rule, codes in zip(pick.groups, ground.groups, strict=True):
        groups = [int(codes[place]) for place in chosen]
        sizes = [groups.count(each) for each in sorted(set(groups))]
        if not between(rule.least, len(sizes), rule.most):
            return False
        if not all(between(rule.each_least, size, rule.each_most) for size in sizes):
            return False
        if rule.skew is not None and max(sizes) - min(sizes) > rule.skew:
            return False
    return not pick.quotas or meets_quotas(pick, ground, chosen)


def meets_quotas(pick: Pick, ground: Ground, chosen: Chosen) -> bool:
    for counted in product(range(len(pick.quotas)), repeat=len(chosen)):
        if not all(ground.quotas[q][place] for q, place in zip(counted, chosen, strict=True)):
            continue
        numbers = [counted.count(q) for q in range(len(pick.quotas))]
        leasts = [q.count if q.least is None else q.least for q in pick.quotas]
        if all(
            between(least, number, quota.count)
            for least, number, quota in zip(leasts, numbers, pick.quotas, strict=True)
        ):
            return True
    return False


def selections(pick: Pick, ground: Ground) -> list[Chosen]:
    places = range(len(ground))
    subsets = (each for count in places for each in combinations(places, count + 1))
    return [each for each in subsets if holds(pick, ground, each)]


def wish(ground: Ground, chosen: Chosen) -> tuple[object, ...]:
    """Those that hold the work, then the number of groups by rule, then the first in order."""
    taken = [place in chosen for place in range(len(ground))]
    groups = [len({int(codes[place]) for place in chosen}) for codes in ground.groups]
    return taken[: ground.held], groups, taken[ground.held :]


def room(ground: Ground, chosen: Chosen) -> int:
    places = list(chosen)
    return usable(100, ground.least[places], ground.most[places])[0]


spans = st.tuples(st.integers(1, 3), st.none() | st.integers(0, 3)).map(
    lambda each: (each[0], None if each[1] is None else sum(each))
)
rules = st.builds(
    lambda groups, each, skew: Group("", *groups, *each, skew),
    spans,
    spans,
    st.none() | st.integers(0, 2),
)
quotas = st.builds(
    lambda count, least: Quota(Affinity(), count, None if least is None else min(count, least)),
    st.integers(1, 3),
    st.none() | st.integers(0, 2),
)


@st.composite
def wishes(draw: st.DrawFn, rules_most: int = 2, quotas_most: int = 2) -> Pick:
    least, most = draw(spans)
    return Pick(
        least=least,
        most=most,
        groups=tuple(draw(st.lists(rules, max_size=rules_most))),
        quotas=tuple(draw(st.lists(quotas, max_size=quotas_most))),
        shortage=draw(st.sampled_from(Shortage)),
    )


@st.composite
def grounds(draw: st.DrawFn, pick: Pick, size: int = 7) -> Ground:
    count = draw(st.integers(0, size))

    def column(numbers: st.SearchStrategy[int]) -> list[int]:
        return draw(st.lists(numbers, min_size=count, max_size=count))

    least = draw(st.sampled_from([0, 3])) and column(st.sampled_from([0, 1, 2, 3, 5]))
    most = [each + (least[i] if least else 0) for i, each in enumerate(column(st.integers(0, 6)))]
    masks = [np.array(column(st.integers(0, 1)), np.bool_) for _ in pick.quotas]
    if masks:  # only those that match a quota have a place
        masks[0] |= ~np.logical_or.reduce(masks)
    return Ground(
        np.arange(count),
        tuple(np.array(column(st.integers(0, 2)), np.int64) for _ in pick.groups),
        tuple(masks),
        np.array(least or [0] * count, np.int64),
        np.array(most, np.int64),
        draw(st.integers(0, 12)),
        draw(st.integers(0, count)),
    )


@given(wishes(), st.data())
def test_a_selection_is_found_wherever_there_is_one(pick: Pick, data: st.DataObject) -> None:
    assume(pick.shortage is Shortage.REFUSE)
    ground = data.draw(grounds(pick))
    chosen, possible = picked(pick, ground), selections(pick, ground)
    if chosen is None:
        assert not possible
        return
    assert tuple(chosen) in possible
    if any(ground.holds(list(each)) for each in possible):
        assert ground.holds(chosen)


@given(wishes(), st.data())
def test_what_is_preferred_is_taken_where_it_has_room(pick: Pick, data: st.DataObject) -> None:
    ground = data.draw(grounds(pick))
    possible = selections(pick, ground)
    assume(possible)
    best = max(possible, key=lambda each: wish(ground, each))
    if ground.holds(list(best)) and is_best(pick, ground):
        assert picked(pick, ground) == list(best)


@given(wishes(1, 1), st.data())
def test_where_the_preferred_lack_room_the_first_of_them_are_kept(
    pick: Pick, data: st.DataObject
) -> None:
    ground = data.draw(grounds(pick))
    possible = selections(pick, ground)
    assume(possible)
    ground = replace(ground, needed=max(room(ground, each) for each in possible))
    enough = [each for each in possible if ground.holds(list(each))]
    assume(is_best(pick, ground))
    best = max(possible, key=lambda each: wish(ground, each))

    def kept(chosen: Chosen) -> int:
        missing = (i for i, place in enumerate(best) if place not in chosen)
        return next(missing, len(best))

    chosen = picked(pick, ground)
    assert chosen is not None
    assert ground.holds(chosen)
    assert kept(tuple(chosen)) == max(kept(each) for each in enough)


@given(wishes(0, 0), st.data())
def test_without_rules_those_that_make_way_do_so_for_the_next_in_order(
    pick: Pick, data: st.DataObject
) -> None:
    ground = data.draw(grounds(pick))
    possible = selections(pick, ground)
    assume(possible)
    ground = replace(ground, needed=max(room(ground, each) for each in possible))
    enough = [each for each in possible if ground.holds(list(each))]
    assert picked(pick, ground) == list(max(enough, key=lambda each: wish(ground, each)))


@given(wishes(1, 1), st.data())
def test_the_short_ways_and_the_search_agree(pick: Pick, data: st.DataObject) -> None:
    ground = data.draw(grounds(pick, size=10))
    plain, aim = straight(pick, ground), InOrder(ground)
    best = search(ground.lots, frames(pick, ground), aim)
    found = None if best is None else aim.places(best)
    if plain is not None and is_best(pick, ground):
        assert plain == found
    if by_sizes.applies(pick):
        assert by_sizes.by_sizes(pick, ground) == found


@given(wishes(), st.data())
def test_partial_takes_what_there_is_and_never_more_than_allowed(
    pick: Pick, data: st.DataObject
) -> None:
    assume(pick.shortage is Shortage.PARTIAL)
    ground = data.draw(grounds(pick))
    chosen = picked(pick, ground)
    if chosen is None:
        assert len(ground) == 0 or not any(quota.any() for quota in ground.quotas)
        return
    assert pick.most is None or len(chosen) <= pick.most
    for rule, codes in zip(pick.groups, ground.groups, strict=True):
        sizes = np.unique(codes[chosen], return_counts=True)[1]
        assert rule.most is None or len(sizes) <= rule.most
        assert rule.each_most is None or sizes.max() <= rule.each_most
        assert rule.skew is None or sizes.max() - sizes.min() <= rule.skew


def spread_over(*codes: list[int]) -> Ground:
    count = len(codes[0])
    columns = tuple(np.array(each, np.int64) for each in codes)
    room = np.full(count, 10)
    return Ground(np.arange(count), columns, (), np.zeros(count, np.int64), room, 0)


def test_five_hundred_clusters_in_nested_groups_are_within_the_limit() -> None:
    regions = [i % 10 for i in range(500)]
    zones = [i % 10 * 10 + i // 10 % 5 for i in range(500)]
    region, zone = Group("region", 3, 5, 2, 4), Group("zone", 4, None, 1, 2, 1)
    chosen = picked(Pick(least=8, most=12, groups=(zone, region)), spread_over(zones, regions))
    assert chosen is not None
    assert len(chosen) == 12
    assert len({regions[place] for place in chosen}) == 5


def test_rules_that_cross_in_too_many_ways_are_given_up_and_not_answered_wrongly() -> None:
    one, other = [i % 40 for i in range(800)], [i % 37 for i in range(800)]
    pick = Pick(least=60, most=61, groups=(Group("a", 20, 25, 2, 3), Group("b", 20, 25, 2, 3)))
    with pytest.raises(TooManyWays):
        picked(pick, spread_over(one, other))
