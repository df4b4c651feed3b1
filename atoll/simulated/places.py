"""Which node a pod goes to: what each has free, in columns, and who is where.

Nodes and the pods on them come in; for one more pod a node goes out, or why there is none, in
Kubernetes' words. The node with the largest share left is taken, the first by name of equals.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from atoll.dialects.kubernetes.nodes import decode
from atoll.errors import Invalid
from atoll.model.amount import CPU, MEMORY, PODS
from atoll.model.demand import NodeClaim
from atoll.model.node import UNSCHEDULABLE, Node
from atoll.model.taint import Effect, Toleration, first_untolerated
from atoll.scheduling.columns import Mask, Numbers
from atoll.scheduling.nodes.claims import affine, claimed, selected, tolerated
from atoll.scheduling.nodes.table import NodeTable
from atoll.simulated.plans.moulds import Mould, Needs
from atoll.simulated.plans.neighbours import Neighbour, Newcomer, ruled_out

_SCORED = (CPU, MEMORY, PODS)
_STAYS = Toleration(effect=Effect.NO_SCHEDULE, any_value=True)


class Places:
    """The nodes of a cluster, what is free on them, and where every pod is that has a place."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self._table = NodeTable.of(())
        self._rows: dict[str, int] = {}
        self._free: dict[str, Numbers] = {}
        self._shares: list[tuple[str, Any]] = []
        self._taken: dict[str, tuple[Neighbour, Needs]] = {}
        self._with_rules: set[str] = set()

    def renew(self, wires: Iterable[Mapping[str, Any]]) -> None:
        """These are the nodes now."""
        self.nodes = {node.name: node for wire in wires if (node := _decoded(wire)) is not None}
        self._table = NodeTable.of(self.nodes.values())
        self._rows = {name: row for row, name in enumerate(self._table.rows.names)}
        self._free = {name: column.copy() for name, column in self._table.rows.free.items()}
        self._free[PODS] = self._table.rows.slots.copy()
        self._shares = [
            (name, 1.0 / np.maximum(self._free[name], 1)) for name in _SCORED if name in self._free
        ]
        for neighbour, needs in self._taken.values():
            self._use(neighbour.node, needs, 1)

    def take(self, key: str, node: str, mould: Mould) -> None:
        """A pod has this place; to say so again is to say nothing."""
        if key in self._taken:
            return
        namespace = key.partition("/")[0]
        self._taken[key] = (Neighbour(namespace, mould.labels, node, mould.rules), mould.needs)
        if mould.rules.apart:
            self._with_rules.add(key)
        self._use(node, mould.needs, 1)

    def give_back(self, key: str) -> bool:
        """A pod needs its place no more; says whether it had one."""
        had = self._taken.pop(key, None)
        if had is None:
            return False
        self._with_rules.discard(key)
        self._use(had[0].node, had[1], -1)
        return True

    def holds(self, key: str) -> bool:
        return key in self._taken

    def choose(self, mould: Mould, namespace: str) -> str | None:
        """The node this pod goes to; None if there is none."""
        mask = claimed(self._table, mould.claim)
        for name, amount in mould.needs:
            free = self._free.get(name)
            if free is None:
                return None
            mask = mask & (free >= amount)
        if mould.rules or self._with_rules:
            out = self._ruled_out(mould, namespace)
            if out:
                mask = mask & ~self._rows_of(out)
        if not mask.any():
            return None
        left = np.zeros(len(self._table))
        needs = dict(mould.needs)
        for name, share in self._shares:
            left += (self._free[name] - needs.get(name, 0)) * share
        return self._table.rows.names[int(np.argmax(np.where(mask, left, -np.inf)))]

    def refusal(self, mould: Mould, namespace: str) -> str:
        """Why no node takes this pod, as Kubernetes' scheduler says it."""
        rows = self._table.rows
        reasons: Counter[str] = Counter()
        fine = tolerated(rows, mould.claim)
        for row in np.flatnonzero(~fine).tolist():
            taints = rows.taints.values[rows.taints.codes[row]]
            reasons[_of_taint(first_untolerated(taints, mould.claim.tolerations))] += 1
        matching = selected(rows, mould.claim) & affine(rows, mould.claim)
        mismatched = int((fine & ~matching).sum())
        if mismatched:
            reasons["node(s) didn't match Pod's node affinity/selector"] += mismatched
        left = fine & matching
        for name, amount in mould.needs:
            free = self._free.get(name, np.zeros(len(rows), np.int64))
            short = int((left & (free < amount)).sum())
            if short:
                reasons["Too many pods" if name == PODS else f"Insufficient {name}"] += short
        if not reasons or self._with_rules or mould.rules:
            for name, why in self._ruled_out(mould, namespace).items():
                if left[self._rows[name]]:
                    reasons[why] += 1
        told = ", ".join(sorted(f"{count} {why}" for why, count in reasons.items()))
        return f"0/{len(rows)} nodes are available: {told or 'no nodes'}."

    def daemon_nodes(self, claim: NodeClaim) -> tuple[list[str], set[str]]:
        """Where a daemon is to run, and where one that is there may stay."""
        names = self._table.rows.names
        lasting = replace(claim, tolerations=(*claim.tolerations, _STAYS))
        wanted = np.flatnonzero(claimed(self._table, claim)).tolist()
        stays = np.flatnonzero(claimed(self._table, lasting)).tolist()
        return [names[row] for row in wanted], {names[row] for row in stays}

    def used_on(self, node: str) -> dict[str, int]:
        """What is used of one node."""
        row = self._rows[node]
        offered = {**self.nodes[node].allocatable, PODS: self.nodes[node].slots}
        return {name: amount - int(self._free[name][row]) for name, amount in offered.items()}

    def _use(self, node: str, needs: Needs, count: int) -> None:
        row = self._rows.get(node)
        if row is None:
            return
        for name, amount in needs:
            if name not in self._free:
                self._free[name] = np.zeros(len(self._rows), np.int64)
            self._free[name][row] -= amount * count

    def _ruled_out(self, mould: Mould, namespace: str) -> dict[str, str]:
        labels = {name: node.labels for name, node in self.nodes.items()}
        pod = Newcomer(namespace, mould.labels, mould.rules)
        # Those without rules matter to a pod that has some; to others only those that keep away.
        keys = self._taken if mould.rules else sorted(self._with_rules)
        return ruled_out(pod, [self._taken[key][0] for key in keys], labels)

    def _rows_of(self, names: Iterable[str]) -> Mask:
        mask = np.zeros(len(self._rows), np.bool_)
        mask[[self._rows[name] for name in names]] = True
        return mask


def _decoded(wire: Mapping[str, Any]) -> Node | None:
    """A node as we count it; what cannot be read offers nothing."""
    try:
        return decode(wire)
    except Invalid:
        return None


def _of_taint(taint: Any) -> str:
    if replace(taint, added=None) == UNSCHEDULABLE:
        return "node(s) were unschedulable"
    value = f": {taint.value}" if taint.value else ": "
    return f"node(s) had untolerated taint {{{taint.key}{value}}}"
