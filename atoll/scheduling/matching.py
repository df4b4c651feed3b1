"""Which clusters an affinity means, as a mask over the traits.

Answers are remembered with the traits: bindings that share a placement share the work.
"""

from collections.abc import Mapping
from functools import reduce
from operator import and_, or_

import numpy as np

from atoll.model.affinity import Affinity
from atoll.model.selector import Operator, Requirement
from atoll.scheduling.columns import Interned, Mask
from atoll.scheduling.traits import Traits


def matching(affinity: Affinity, traits: Traits) -> Mask:
    """The clusters that meet every condition of an affinity."""
    return traits.remember(("affinity", affinity), lambda: _matching(affinity, traits))


def _matching(affinity: Affinity, traits: Traits) -> Mask:
    masks = [_by_requirement(each, traits.provider) for each in affinity.provider]
    masks += [_by_requirement(each, traits.region) for each in affinity.region]
    masks += [_by_zone(each, traits.zones) for each in affinity.zones]
    masks += [_by_key(each, traits.properties, traits) for each in affinity.properties]
    if affinity.labels is not None:
        masks += [_by_key(each, traits.labels, traits) for each in affinity.labels.requirements]
    if affinity.names:
        masks.append(_named(affinity.names, traits))
    if affinity.exclude:
        masks.append(~_named(affinity.exclude, traits))
    if affinity.sets:
        wanted = frozenset(affinity.sets)
        masks.append(traits.sets.where(lambda sets: sets & wanted))
    if affinity.expressions:
        needed = frozenset(affinity.expressions)
        masks.append(traits.holds.where(lambda holds: needed <= holds))
    if affinity.alternatives:
        masks.append(reduce(or_, (matching(each, traits) for each in affinity.alternatives)))
    return reduce(and_, masks, np.ones(len(traits.names), np.bool_))


def _named(names: tuple[str, ...], traits: Traits) -> Mask:
    mask = np.zeros(len(traits.names), np.bool_)
    mask[[traits.rows[name] for name in names if name in traits.rows]] = True
    return mask


def _by_key(
    requirement: Requirement, columns: Mapping[str, Interned[str | None]], traits: Traits
) -> Mask:
    """A requirement on a label or property; a key that no cluster has is absent everywhere."""
    column = columns.get(requirement.key)
    if column is None:
        holds = requirement.matches({})
        return np.full(len(traits.names), holds, np.bool_)
    if requirement.operator is Operator.IN:
        return column.holding(requirement.values)
    key = requirement.key
    return column.where(lambda value: requirement.matches({} if value is None else {key: value}))


def _by_requirement(requirement: Requirement, column: Interned[str]) -> Mask:
    """A requirement on a field; an empty field is an absent one."""
    key = requirement.key
    return column.where(lambda value: requirement.matches({key: value} if value else {}))


def _by_zone(requirement: Requirement, column: Interned[tuple[str, ...]]) -> Mask:
    """Of a cluster's several zones, `in` wants any among the values, `notin` wants none."""
    wanted = frozenset(requirement.values)
    match requirement.operator:
        case Operator.IN:
            return column.where(lambda zones: not wanted.isdisjoint(zones))
        case Operator.NOT_IN:
            return column.where(wanted.isdisjoint)
        case Operator.EXISTS:
            return column.where(bool)
        case _:
            return column.where(lambda zones: not zones)
