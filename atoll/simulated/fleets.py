"""Which simulated members there are: a fleet is a list of descriptions, and some have a name.

A name comes in, descriptions go out. What is described here is data: how a member is built, served
and joined is not known here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from atoll.dialects.karmada.annotations import PRICE
from atoll.errors import UsageError


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

    Taints are as in Kubernetes: `key=value:effect`, the value optional.
    """

    name: str
    provider: str = ""
    region: str = ""
    zones: tuple[str, ...] = ()
    taints: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    pools: tuple[Pool, ...] = (Pool(count=3, cpu="8", memory="32Gi", pods=110),)
    tenants: tuple[Tenant, ...] = ()


Descriptions = tuple[Description, ...]

# An old spelling of the region, which texts from Karmada's first years still select by.
_REGION = "failuredomain.kubernetes.io/region"

TINY: Descriptions = (
    Description(name="member1", provider="sim", region="dc1", labels={_REGION: "dc1"}),
    Description(name="member2", provider="sim", region="dc2", labels={_REGION: "dc2"}),
)

_BIG = Pool(cpu="16", memory="64Gi", pods=110)
_SMALL = Pool(cpu="8", memory="32Gi", pods=110)


def _pools(count: int, node: Pool, *zones: str) -> tuple[Pool, ...]:
    """So many equal nodes, evenly in these zones."""
    share, rest = divmod(count, len(zones))
    return tuple(
        replace(node, count=share + (number < rest), zone=zone) for number, zone in enumerate(zones)
    )


HYBRID: Descriptions = (
    Description(
        name="idc-bj",
        provider="onprem",
        region="cn-north",
        zones=("bj-hall1", "bj-hall2"),
        annotations={PRICE: "cpu=0.0090, gib=0.0012"},
        pools=_pools(20, _BIG, "bj-hall1", "bj-hall2"),
        tenants=(Tenant(name="erp", replicas=104, cpu="2", memory="7Gi"),),
    ),
    Description(
        name="idc-sh",  # nearly full: 173 of 192 CPUs are taken
        provider="onprem",
        region="cn-east",
        zones=("sh-hall1",),
        annotations={PRICE: "cpu=0.0090, gib=0.0012"},
        pools=_pools(12, _BIG, "sh-hall1"),
        tenants=(Tenant(name="warehouse", replicas=173, cpu="1", memory="3600Mi"),),
    ),
    Description(
        name="ali-hz",
        provider="alibaba",
        region="cn-east",
        zones=("cn-hangzhou-h", "cn-hangzhou-i"),
        annotations={PRICE: "cpu=0.0270, gib=0.0036"},
        pools=_pools(10, _SMALL, "cn-hangzhou-h", "cn-hangzhou-i"),
        tenants=(Tenant(name="search", replicas=12, cpu="2", memory="7600Mi"),),
    ),
    Description(
        name="aws-use1",
        provider="aws",
        region="us-east-1",
        zones=("us-east-1a", "us-east-1b"),
        annotations={PRICE: "cpu=0.0316, gib=0.0042"},
        pools=_pools(10, _SMALL, "us-east-1a", "us-east-1b"),
        tenants=(Tenant(name="checkout", replicas=10, cpu="2", memory="7800Mi"),),
    ),
    Description(
        name="azr-weu",
        provider="azure",
        region="westeurope",
        zones=("westeurope-1", "westeurope-2"),
        taints=("maintenance:NoSchedule",),
        annotations={PRICE: "cpu=0.0340, gib=0.0045"},
        pools=_pools(8, _SMALL, "westeurope-1", "westeurope-2"),
        tenants=(Tenant(name="reports", replicas=8, cpu="2", memory="7Gi"),),
    ),
)

PRESETS: Mapping[str, Descriptions] = {"tiny": TINY, "hybrid": HYBRID}


def fleet_of(name: str) -> Descriptions:
    """The fleet of this name; UsageError if there is none."""
    if name not in PRESETS:
        known = ", ".join(PRESETS)
        raise UsageError(f'there is no fleet "{name}"; try: --fleet with one of {known}')
    return PRESETS[name]


def taint(written: str) -> dict[str, str]:
    """A taint as objects hold it."""
    what, _, effect = written.rpartition(":")
    key, _, value = what.partition("=")
    return {"key": key, "effect": effect} | ({"value": value} if value else {})
