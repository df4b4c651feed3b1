"""The kinds, Karmada's and ours, that are read as values, each with its version and its decoder."""

from typing import Any

from atoll.dialects import prices
from atoll.dialects.karmada.objects import members, policies, rebalancers, resource_bindings, works
from atoll.dialects.kind import Kind
from atoll.model.member import Member
from atoll.model.policy import ClusterTaintPolicy, OverridePolicy, Policy
from atoll.model.price import ClusterPrice
from atoll.model.resource_binding import ResourceBinding
from atoll.model.work import Work
from atoll.model.workload_rebalancer import WorkloadRebalancer

_BINDING = "work.karmada.io/v1alpha2"
_POLICY = policies.API_VERSION
RESOURCE_BINDING: Kind[ResourceBinding] = Kind(
    _BINDING, "ResourceBinding", resource_bindings.decode
)
CLUSTER_RESOURCE_BINDING: Kind[ResourceBinding] = Kind(
    _BINDING, "ClusterResourceBinding", resource_bindings.decode
)
WORK: Kind[Work] = Kind("work.karmada.io/v1alpha1", "Work", works.decode)
PROPAGATION_POLICY: Kind[Policy] = Kind(_POLICY, policies.POLICY, policies.decode_propagation)
CLUSTER_PROPAGATION_POLICY: Kind[Policy] = Kind(
    _POLICY, policies.CLUSTER_POLICY, policies.decode_propagation
)
OVERRIDE_POLICY: Kind[OverridePolicy] = Kind(_POLICY, "OverridePolicy", policies.decode_override)
CLUSTER_OVERRIDE_POLICY: Kind[OverridePolicy] = Kind(
    _POLICY, "ClusterOverridePolicy", policies.decode_override
)
CLUSTER_TAINT_POLICY: Kind[ClusterTaintPolicy] = Kind(
    _POLICY, "ClusterTaintPolicy", policies.decode_tainting
)
WORKLOAD_REBALANCER: Kind[WorkloadRebalancer] = Kind(
    "apps.karmada.io/v1alpha1", "WorkloadRebalancer", rebalancers.decode
)
CLUSTER_PRICE: Kind[ClusterPrice] = Kind(prices.API_VERSION, prices.KIND, prices.decode)
CLUSTER: Kind[Member] = Kind("cluster.karmada.io/v1alpha1", "Cluster", members.decode)

BINDINGS = (RESOURCE_BINDING, CLUSTER_RESOURCE_BINDING)
PROPAGATION_POLICIES = (PROPAGATION_POLICY, CLUSTER_PROPAGATION_POLICY)
OVERRIDE_POLICIES = (OVERRIDE_POLICY, CLUSTER_OVERRIDE_POLICY)
ALL: tuple[Kind[Any], ...] = (
    CLUSTER,
    *OVERRIDE_POLICIES,
    CLUSTER_TAINT_POLICY,
    *BINDINGS,
    WORK,
    WORKLOAD_REBALANCER,
    CLUSTER_PRICE,
)
"""Those of every plane, in the order in which they are followed; policies come with sources."""
