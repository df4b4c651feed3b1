"""A node of a member cluster: what it is, what it offers, and what is already asked of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from atoll.model.taint import Effect, Taint

UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", Effect.NO_SCHEDULE)
"""The taint that a node closed to new work (`kubectl cordon`) is taken to have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node at one moment; amounts in their own unit, as `Amount.in_its_unit` says."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    allocatable: Mapping[str, int] = field(default_factory=dict)
    requested: Mapping[str, int] = field(default_factory=dict)
    slots: int = 0
    """How many pods the node can hold."""
    pods: int = 0
    """How many of the slots are taken."""
