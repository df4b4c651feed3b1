"""Which clusters are meant: conditions that must all hold, and alternatives of them.

The conditions of every dialect decode to these. Expressions (CEL) are answered outside the core;
a cluster matches one if it is among those the cluster is said to hold.
"""

from dataclasses import dataclass

from atoll.model.selector import Requirement, Selector


@dataclass(frozen=True, slots=True)
class Affinity:
    """Clusters that meet every condition given; without any, every cluster."""

    names: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    labels: Selector | None = None
    provider: tuple[Requirement, ...] = ()
    region: tuple[Requirement, ...] = ()
    zones: tuple[Requirement, ...] = ()
    properties: tuple[Requirement, ...] = ()
    sets: tuple[str, ...] = ()
    """Member of at least one of these cluster sets; empty: no matter."""
    expressions: tuple[str, ...] = ()
    alternatives: tuple["Affinity", ...] = ()
    """If given, at least one of these must match as well."""


ANYWHERE = Affinity()


@dataclass(frozen=True, slots=True)
class Term:
    """A named choice of clusters, with further tiers that take only what it cannot hold."""

    name: str = ""
    affinity: Affinity = ANYWHERE
    overflow: tuple[Affinity, ...] = ()
