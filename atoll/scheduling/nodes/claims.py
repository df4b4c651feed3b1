"""Which nodes a claim means: taints tolerated, node selector matched, required affinity met.

Each is a mask over the rows of a table, reached once for each distinct value of a column. The
mask of a whole claim is remembered with the table: workloads share claims far more than requests.
"""

from functools import reduce
from operator import and_, or_

import numpy as np

from atoll.model.demand import NodeClaim, NodeTerm
from atoll.model.selector import Operator, Requirement
from atoll.model.taint import first_untolerated
from atoll.scheduling.columns import Mask
from atoll.scheduling.nodes.rows import NodeRows
from atoll.scheduling.nodes.table import NodeTable

MASKS_MOST = 64
NAME_FIELD = "metadata.name"


def claimed(table: NodeTable, claim: NodeClaim) -> Mask:
    """The nodes a replica of this claim may run on, whatever they have free."""
    mask = table.masks.get(claim)
    if mask is None:
        if len(table.masks) >= MASKS_MOST:
            table.masks.clear()
        rows = table.rows
        mask = tolerated(rows, claim) & selected(rows, claim) & affine(rows, claim)
        table.masks[claim] = mask
    return mask


def tolerated(rows: NodeRows, claim: NodeClaim) -> Mask:
    """The nodes that have no taint against the claim."""
    tolerations = claim.tolerations
    return rows.taints.where(lambda each: first_untolerated(each, tolerations) is None)


def selected(rows: NodeRows, claim: NodeClaim) -> Mask:
    """The nodes that have every label of the claim's node selector."""
    wanted = [Requirement(key, Operator.IN, (value,)) for key, value in claim.selector]
    return _all(rows, [_by_label(rows, each) for each in wanted])


def affine(rows: NodeRows, claim: NodeClaim) -> Mask:
    """The nodes that match any term of the required affinity; all of them without an affinity."""
    if claim.terms is None:
        return _all(rows, [])
    matched = [_by_term(rows, term) for term in claim.terms]
    return reduce(or_, matched, np.zeros(len(rows), np.bool_))


def _by_term(rows: NodeRows, term: NodeTerm) -> Mask:
    if not term.labels and not term.fields:
        # A term that says nothing means no node, as in Kubernetes.
        return np.zeros(len(rows), np.bool_)
    masks = [_by_label(rows, each) for each in term.labels]
    return _all(rows, masks + [_by_field(rows, each) for each in term.fields])


def _all(rows: NodeRows, masks: list[Mask]) -> Mask:
    return reduce(and_, masks, np.ones(len(rows), np.bool_))


def _by_label(rows: NodeRows, requirement: Requirement) -> Mask:
    column = rows.labels.get(requirement.key)
    if column is None:
        return np.full(len(rows), requirement.matches({}))
    match requirement.operator:
        case Operator.IN:
            return column.holding(requirement.values)
        case Operator.NOT_IN:
            return ~column.holding(requirement.values)
        case Operator.EXISTS:
            return ~column.holding((None,))
        case Operator.NOT_EXISTS:
            return column.holding((None,))
        case _:
            key = requirement.key
            return column.where(
                lambda value: requirement.matches({} if value is None else {key: value})
            )


def _by_field(rows: NodeRows, requirement: Requirement) -> Mask:
    """A requirement on the node's name; a node has no other field to ask about."""
    if requirement.key != NAME_FIELD:
        return np.full(len(rows), requirement.matches({}))
    if requirement.operator not in (Operator.IN, Operator.NOT_IN):
        matches = [requirement.matches({NAME_FIELD: name}) for name in rows.names]
        return np.array(matches, np.bool_)
    wanted = frozenset(requirement.values)
    mask = np.fromiter((name in wanted for name in rows.names), np.bool_, len(rows))
    return mask if requirement.operator is Operator.IN else ~mask
