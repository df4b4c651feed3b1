"""Every built-in resource: the facts about its kind, its strategy and its columns, put together."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from atoll.apiserver.kinds import (
    admission_policies,
    admission_webhooks,
    apiregistration,
    autoscaling,
    autoscaling_v1,
    batch,
    certificates,
    core,
    csi,
    definitions,
    devices,
    events,
    flows,
    ingresses,
    networks,
    pods,
    quotas,
    rbac,
    scheduling,
    services,
    storage,
    workloads,
)
from atoll.apiserver.kinds.columns import cells
from atoll.apiserver.kinds.columns import core as core_columns
from atoll.apiserver.kinds.columns import networks as network_columns
from atoll.apiserver.kinds.columns import storage as storage_columns
from atoll.apiserver.kinds.columns import workloads as workload_columns
from atoll.apiserver.kinds.filling import fill_zeros
from atoll.apiserver.resource import Column, Resource, Strategy
from atoll.apiserver.schemas.facts import Facts, KindFacts
from atoll.apiserver.schemas.schema import Schema
from atoll.wire import Wire

RBAC = rbac.GROUP
EVENTS = "events.k8s.io"
AUTOSCALING = "autoscaling"


@dataclass(frozen=True, slots=True)
class Kind:
    """What we add to the facts about a kind."""

    strategy: Strategy
    columns: tuple[Column, ...]
    deprecation: str = ""


_CORE = {
    "Binding": Kind(Strategy(), ()),  # asked for, and never stored: the answer is `verbs.binding`
    "ComponentStatus": Kind(
        Strategy(),
        core_columns.COMPONENT_STATUS,
        deprecation="v1 ComponentStatus is deprecated in v1.19+",
    ),
    "ConfigMap": Kind(core.CONFIG_MAP, core_columns.CONFIG_MAP),
    "Endpoints": Kind(
        services.ENDPOINTS,
        core_columns.ENDPOINTS,
        deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    ),
    "Event": Kind(events.CORE_EVENT, core_columns.EVENT),
    "LimitRange": Kind(quotas.LIMIT_RANGE, core_columns.LIMIT_RANGE),
    "Namespace": Kind(core.NAMESPACE, core_columns.NAMESPACE),
    "Node": Kind(core.NODE, core_columns.NODE),
    "PersistentVolume": Kind(storage.PERSISTENT_VOLUME, storage_columns.PERSISTENT_VOLUME),
    "PersistentVolumeClaim": Kind(
        storage.PERSISTENT_VOLUME_CLAIM, storage_columns.PERSISTENT_VOLUME_CLAIM
    ),
    "Pod": Kind(pods.POD, workload_columns.POD),
    "PodTemplate": Kind(pods.POD_TEMPLATE, workload_columns.POD_TEMPLATE),
    "ReplicationController": Kind(
        pods.REPLICATION_CONTROLLER, workload_columns.REPLICATION_CONTROLLER
    ),
    "ResourceQuota": Kind(quotas.RESOURCE_QUOTA, core_columns.RESOURCE_QUOTA),
    "Secret": Kind(core.SECRET, core_columns.SECRET),
    "Service": Kind(services.SERVICE, core_columns.SERVICE),
    "ServiceAccount": Kind(core.SERVICE_ACCOUNT, core_columns.PLAIN),
}
_APPS = {
    "ControllerRevision": Kind(workloads.CONTROLLER_REVISION, workload_columns.CONTROLLER_REVISION),
    "DaemonSet": Kind(workloads.DAEMON_SET, workload_columns.DAEMON_SET),
    "Deployment": Kind(workloads.DEPLOYMENT, workload_columns.DEPLOYMENT),
    "ReplicaSet": Kind(workloads.REPLICA_SET, workload_columns.REPLICA_SET),
    "StatefulSet": Kind(workloads.STATEFUL_SET, workload_columns.STATEFUL_SET),
}

_STORAGE = {
    "CSIDriver": Kind(csi.CSI_DRIVER, storage_columns.CSI_DRIVER),
    "CSINode": Kind(csi.CSI_NODE, storage_columns.CSI_NODE),
    "CSIStorageCapacity": Kind(csi.CSI_STORAGE_CAPACITY, (cells.NAME, cells.CREATED_AT)),
    "StorageClass": Kind(storage.STORAGE_CLASS, storage_columns.STORAGE_CLASS),
    "VolumeAttachment": Kind(csi.VOLUME_ATTACHMENT, storage_columns.VOLUME_ATTACHMENT),
    "VolumeAttributesClass": Kind(
        csi.VOLUME_ATTRIBUTES_CLASS, storage_columns.VOLUME_ATTRIBUTES_CLASS
    ),
}
_NETWORKING = {
    "IPAddress": Kind(networks.IP_ADDRESS, network_columns.IP_ADDRESS),
    "Ingress": Kind(ingresses.INGRESS, network_columns.INGRESS),
    "IngressClass": Kind(ingresses.INGRESS_CLASS, network_columns.INGRESS_CLASS),
    "NetworkPolicy": Kind(networks.NETWORK_POLICY, network_columns.NETWORK_POLICY),
    "ServiceCIDR": Kind(networks.SERVICE_CIDR, network_columns.SERVICE_CIDR),
}

_ADMISSION = {
    "MutatingAdmissionPolicy": Kind(
        admission_policies.MUTATING_POLICY, core_columns.MUTATING_POLICY
    ),
    "MutatingAdmissionPolicyBinding": Kind(
        admission_policies.MUTATING_BINDING, core_columns.POLICY_BINDING
    ),
    "MutatingWebhookConfiguration": Kind(admission_webhooks.MUTATING, core_columns.WEBHOOKS),
    "ValidatingAdmissionPolicy": Kind(
        admission_policies.VALIDATING_POLICY, core_columns.VALIDATING_POLICY
    ),
    "ValidatingAdmissionPolicyBinding": Kind(
        admission_policies.VALIDATING_BINDING, core_columns.POLICY_BINDING
    ),
    "ValidatingWebhookConfiguration": Kind(admission_webhooks.VALIDATING, core_columns.WEBHOOKS),
}

# Asked and answered at once, and never stored: the answers are `access.reviews`.
_REVIEW = Kind(Strategy(), ())

# By group, then kind; each in version v1. One kind has another version, in which it is stored.
KINDS: Mapping[str, Mapping[str, Kind]] = {
    "": _CORE,
    "admissionregistration.k8s.io": _ADMISSION,
    "apps": _APPS,
    EVENTS: {"Event": Kind(events.NEW_EVENT, core_columns.NEW_EVENT)},
    "batch": {
        "CronJob": Kind(batch.CRON_JOB, workload_columns.CRON_JOB),
        "Job": Kind(batch.JOB, workload_columns.JOB),
    },
    RBAC: {
        "ClusterRole": Kind(rbac.CLUSTER_ROLE, core_columns.ROLE),
        "ClusterRoleBinding": Kind(rbac.CLUSTER_ROLE_BINDING, core_columns.BINDING),
        "Role": Kind(rbac.ROLE, core_columns.ROLE),
        "RoleBinding": Kind(rbac.ROLE_BINDING, core_columns.BINDING),
    },
    "apiextensions.k8s.io": {
        "CustomResourceDefinition": Kind(definitions.DEFINITION, (cells.NAME, cells.CREATED_AT)),
    },
    apiregistration.GROUP: {
        "APIService": Kind(apiregistration.API_SERVICE, apiregistration.COLUMNS)
    },
    "coordination.k8s.io": {"Lease": Kind(core.LEASE, core_columns.LEASE)},
    "authentication.k8s.io": dict.fromkeys(("SelfSubjectReview", "TokenReview"), _REVIEW),
    "authorization.k8s.io": dict.fromkeys(
        (
            "LocalSubjectAccessReview",
            "SelfSubjectAccessReview",
            "SelfSubjectRulesReview",
            "SubjectAccessReview",
        ),
        _REVIEW,
    ),
    certificates.GROUP: {
        "CertificateSigningRequest": Kind(
            certificates.CERTIFICATE_SIGNING_REQUEST, core_columns.CERTIFICATE_SIGNING_REQUEST
        ),
    },
    "discovery.k8s.io": {
        "EndpointSlice": Kind(services.ENDPOINT_SLICE, network_columns.ENDPOINT_SLICE)
    },
    "scheduling.k8s.io": {
        "PriorityClass": Kind(scheduling.PRIORITY_CLASS, workload_columns.PRIORITY_CLASS)
    },
    "storage.k8s.io": _STORAGE,
    "networking.k8s.io": _NETWORKING,
    "policy": {
        "PodDisruptionBudget": Kind(
            scheduling.POD_DISRUPTION_BUDGET, workload_columns.POD_DISRUPTION_BUDGET
        ),
    },
    "node.k8s.io": {"RuntimeClass": Kind(scheduling.RUNTIME_CLASS, storage_columns.RUNTIME_CLASS)},
    "flowcontrol.apiserver.k8s.io": {
        "FlowSchema": Kind(flows.FLOW_SCHEMA, core_columns.FLOW_SCHEMA),
        "PriorityLevelConfiguration": Kind(
            flows.PRIORITY_LEVEL_CONFIGURATION, core_columns.PRIORITY_LEVEL_CONFIGURATION
        ),
    },
    "resource.k8s.io": {
        "DeviceClass": Kind(devices.DEVICE_CLASS, core_columns.PLAIN),
        "ResourceClaim": Kind(devices.RESOURCE_CLAIM, storage_columns.RESOURCE_CLAIM),
        "ResourceClaimTemplate": Kind(devices.RESOURCE_CLAIM_TEMPLATE, core_columns.PLAIN),
        "ResourceSlice": Kind(devices.RESOURCE_SLICE, storage_columns.RESOURCE_SLICE),
    },
    AUTOSCALING: {
        "HorizontalPodAutoscaler": Kind(
            autoscaling_v1.HORIZONTAL_POD_AUTOSCALER,
            workload_columns.HORIZONTAL_POD_AUTOSCALER_V1,
        ),
    },
}
_AUTOSCALER = Kind(
    autoscaling.HORIZONTAL_POD_AUTOSCALER, workload_columns.HORIZONTAL_POD_AUTOSCALER
)


def builtin_resources(facts: Facts) -> list[Resource]:
    """The built-in resources that are served, in discovery order."""
    return [
        _resource(facts, known, kind) for known in facts.kinds if (kind := _kind(known)) is not None
    ]


def _kind(known: KindFacts) -> Kind | None:
    if (known.group, known.version) == (AUTOSCALING, "v2"):
        return _AUTOSCALER
    return KINDS.get(known.group, {}).get(known.kind)


def _resource(facts: Facts, known: KindFacts, kind: Kind) -> Resource:
    schema = facts.schema(known.definition)
    resource = Resource(
        group=known.group,
        version=known.version,
        kind=known.kind,
        plural=known.plural,
        singular=known.singular,
        namespaced=known.namespaced,
        schema=schema,
        strategy=replace(kind.strategy, default=_defaulted(schema, kind.strategy.default)),
        stored_version=known.version,
        list_kind=f"{known.kind}List",
        columns=kind.columns,
        verbs=known.verbs,
        short_names=known.short_names,
        categories=known.categories,
        deprecation=kind.deprecation,
    )
    if known.group == EVENTS:
        return replace(
            resource, stored_in="events", from_stored=events.from_core, to_stored=events.to_core
        )
    if (known.group, known.version) == (AUTOSCALING, "v1"):
        return replace(
            resource,
            stored_version="v2",
            from_stored=autoscaling_v1.from_v2,
            to_stored=autoscaling_v1.to_v2,
        )
    return resource


def _defaulted(schema: Schema, default: Callable[[Wire], None]) -> Callable[[Wire], None]:
    def fill(obj: Wire) -> None:
        """The kind's own defaults, then the zero values Kubernetes always writes; in place."""
        default(obj)
        fill_zeros(schema, obj)

    return fill
