"""The kinds that commands know without asking the server, and where their objects are found."""

from functools import partial

from atoll.client.collection import Collection

_CLUSTER, _POLICY = "cluster.karmada.io/v1alpha1", "policy.karmada.io/v1alpha1"
_WORK, _PLACEMENT = "work.karmada.io/v1alpha2", "placement.atoll.io/v1alpha1"
_of_a_namespace = partial(Collection, namespaced=True)
_of_the_plane = partial(Collection, namespaced=False)

CLUSTERS = _of_the_plane(_CLUSTER, "Cluster", "clusters")
POLICIES = _of_a_namespace(_POLICY, "PropagationPolicy", "propagationpolicies")
WIDE_POLICIES = _of_the_plane(_POLICY, "ClusterPropagationPolicy", "clusterpropagationpolicies")
BINDINGS = _of_a_namespace(_WORK, "ResourceBinding", "resourcebindings")
WIDE_BINDINGS = _of_the_plane(_WORK, "ClusterResourceBinding", "clusterresourcebindings")
EXPLANATIONS = _of_a_namespace(_PLACEMENT, "Explanation", "explanations")
WIDE_EXPLANATIONS = _of_the_plane(_PLACEMENT, "ClusterExplanation", "clusterexplanations")
PRICES = _of_the_plane(_PLACEMENT, "ClusterPrice", "clusterprices")
REBALANCERS = _of_the_plane("apps.karmada.io/v1alpha1", "WorkloadRebalancer", "workloadrebalancers")
