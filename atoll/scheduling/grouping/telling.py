"""What a pick asked for and what there is, in a sentence; and its groups, for the explanation."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from atoll.model.intent import Group, Order, Pick, Quota
from atoll.scheduling.candidates import Candidates, Grouping, Groups
from atoll.scheduling.columns import Numbers, Rows
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.grouping.ground import group_codes
from atoll.scheduling.matching import matching
from atoll.scheduling.orders import Ranking

QUOTAS = "quotas"
_NAMED_MOST = 8


def considered(
    pick: Pick, candidates: Candidates, ranking: Ranking, fleet: Fleet
) -> tuple[Groups, ...]:
    """The groups of every rule, the quotas, and where the order is by price, whose is known.

    A candidate that is in no group of a key has no value for it. The score of a group is its room.
    """
    found, order, traits = list[Groups](), ranking.positions, fleet.traits
    for rule in pick.groups:
        codes, names = group_codes(rule.key, traits)
        in_order = codes[candidates.rows[order]]
        ends = np.searchsorted(np.sort(in_order), np.arange(len(names) + 1))
        grouped = order[np.argsort(in_order, kind="stable")]
        members = [grouped[a:b] for a, b in pairwise(ends.tolist())]
        found.append(_groups(rule.key, names, members, candidates))
    if pick.quotas:
        masks = [matching(each.affinity, traits)[candidates.rows[order]] for each in pick.quotas]
        names = [f"quota {i}" for i in range(1, len(masks) + 1)]
        found.append(_groups(QUOTAS, names, [order[mask] for mask in masks], candidates))
    if ranking.unpriced is not None:
        known, unknown = order[~ranking.unpriced[order]], order[ranking.unpriced[order]]
        found.append(_groups(Order.PRICE, ["known", "not known"], [known, unknown], candidates))
    return tuple(found)


def _groups(
    key: str, names: Sequence[str], members: Sequence[Numbers], candidates: Candidates
) -> Groups:
    some = [(name, each) for name, each in zip(names, members, strict=True) if len(each)]
    grouping = Grouping(
        key,
        [name for name, _ in some],
        [len(each) for _, each in some],
        candidates.rows[np.concatenate([np.zeros(0, np.int64), *(each for _, each in some)])],
    )
    return Groups(grouping, [int(candidates.available[each].sum()) for _, each in some])


def with_taken(groups: Groups, taken: Rows) -> Groups:
    """These groups, knowing from which of them clusters were taken."""
    ends = np.cumsum(groups.sizes)
    places = np.searchsorted(ends, np.flatnonzero(np.isin(groups.rows, taken)), side="right")
    return groups._replace(taken=np.unique(places).tolist())


def not_enough(pick: Pick, groups: tuple[Groups, ...], candidates: int) -> str:
    """What was asked for, and what there is instead."""
    asked = [_number(max(pick.least, 1), pick.most, "cluster")]
    asked += [_asked_of_groups(each) for each in pick.groups]
    asked += [_asked_of_quota(each, i) for i, each in enumerate(pick.quotas, start=1)]
    found = [f"there are {candidates} candidates"]
    found += [_found(each, candidates) for each in groups if each.key != Order.PRICE]
    return f"asked for {', '.join(asked)}; {'; '.join(found)}."


def _asked_of_groups(rule: Group) -> str:
    parts = [f"in {_number(rule.least, rule.most, 'group')} by {rule.key}"]
    if rule.each_least > 1 or rule.each_most is not None:
        parts.append(f"with {_number(rule.each_least, rule.each_most, 'cluster')} in each")
    if rule.skew is not None:
        parts.append(f"differing by at most {rule.skew}")
    return " ".join(parts)


def _asked_of_quota(quota: Quota, number: int) -> str:
    least = quota.count if quota.least is None else quota.least
    return f"{_number(least, quota.count, 'cluster')} of quota {number}"


def _found(groups: Groups, candidates: int) -> str:
    sizes = list(zip(groups.names, groups.sizes, strict=True))
    named = [f"{name or '(empty)'} has {size}" for name, size in sizes[:_NAMED_MOST]]
    if len(sizes) > _NAMED_MOST:
        named.append(f"and {len(sizes) - _NAMED_MOST} more")
    without = candidates - len(np.unique(groups.rows))
    if without:
        named.append(f"{without} in none")
    return f"{groups.key}: {', '.join(named)}"


def _number(least: int, most: int | None, noun: str) -> str:
    if most is None:
        return f"at least {least} {noun}{'s' if least != 1 else ''}"
    span = f"{least}" if least == most else f"{least} to {most}"
    return f"{span} {noun}{'s' if most != 1 else ''}"
