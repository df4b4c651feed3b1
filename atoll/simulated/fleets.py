"""What a fleet of simulated members is described by: clusters, pools of nodes, tenants.

Values only, and how a taint is written. How a description is read from a file is in `fleet_file`;
how a member is built, served and joined is not known here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SIMULATED = "atoll.io/simulated"
"""The annotation of a Cluster by which one that is simulated is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """So many equal nodes. Quantities are as in Kubernetes; `more` are further resources."""

    count: int = 10
    cpu: str = "64"
    memory: str = "256Gi"
    pods: int = 250
    more: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[str, ...] = ()
    zone: str = ""
    region: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """A Deployment that a member has from the beginning and that is none of the plane's business.

    `cpu` and `memory` are of one replica, as Kubernetes writes them.
    """

    name: str
    replicas: int
    cpu: str
    memory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """One member: what its Cluster says of it, what it is made of, and who is there already.

    Taints are as in Kubernetes: `key=value:effect`, the value optional. Times are in seconds.
    """

    name: str
    provider: str = ""
    region: str = ""
    zones: tuple[str, ...] = ()
    taints: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    pools: tuple[Pool, ...] = ()
    tenants: tuple[Tenant, ...] = ()
    start_s: float = 0.0
    job_s: float = 0.0
    end_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Fleet:
    """The members of one instance; `document` is what they were read from."""

    name: str
    about: str
    clusters: tuple[Description, ...]
    document: Mapping[str, Any] = field(repr=False)

    @property
    def node_count(self) -> int:
        return sum(pool.count for cluster in self.clusters for pool in cluster.pools)


def taint(written: str) -> dict[str, str]:
    """A taint as objects hold it."""
    what, _, effect = written.rpartition(":")
    key, _, value = what.partition("=")
    return {"key": key, "effect": effect} | ({"value": value} if value else {})
