"""Every built-in resource: the facts about its kind, its strategy and its columns, put together."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from atoll.apiserver.kinds import (
    apiregistration,
    batch,
    certificates,
    coordination,
    core,
    definitions,
    events,
    pods,
    rbac,
    scheduling,
    secrets,
    services,
    slices,
    storage,
    workloads,
)
from atoll.apiserver.kinds.columns import access, cells
from atoll.apiserver.kinds.columns import core as core_columns
from atoll.apiserver.kinds.columns import events as event_columns
from atoll.apiserver.kinds.columns import pods as pod_columns
from atoll.apiserver.kinds.columns import scheduling as scheduling_columns
from atoll.apiserver.kinds.columns import slices as slice_columns
from atoll.apiserver.kinds.columns import storage as storage_columns
from atoll.apiserver.kinds.columns import workloads as workload_columns
from atoll.apiserver.kinds.filling import fill_zeros
from atoll.apiserver.resource import Column, Object, Resource, Strategy
from atoll.apiserver.schemas.facts import Facts, KindFacts
from atoll.apiserver.schemas.schema import Schema

RBAC = rbac.GROUP
EVENTS = "events.k8s.io"


@dataclass(frozen=True, slots=True)
class Kind:
    """What we add to the facts about a kind."""

    strategy: Strategy
    columns: tuple[Column, ...]


_CORE = {
    "ConfigMap": Kind(core.CONFIG_MAP, core_columns.CONFIG_MAP),
    "Endpoints": Kind(services.ENDPOINTS, core_columns.ENDPOINTS),
    "Event": Kind(events.CORE_EVENT, event_columns.EVENT),
    "LimitRange": Kind(core.LIMIT_RANGE, core_columns.LIMIT_RANGE),
    "Namespace": Kind(core.NAMESPACE, core_columns.NAMESPACE),
    "Node": Kind(core.NODE, core_columns.NODE),
    "PersistentVolume": Kind(storage.PERSISTENT_VOLUME, storage_columns.PERSISTENT_VOLUME),
    "PersistentVolumeClaim": Kind(
        storage.PERSISTENT_VOLUME_CLAIM, storage_columns.PERSISTENT_VOLUME_CLAIM
    ),
    "Pod": Kind(pods.POD, pod_columns.POD),
    "PodTemplate": Kind(pods.POD_TEMPLATE, pod_columns.POD_TEMPLATE),
    "ReplicationController": Kind(pods.REPLICATION_CONTROLLER, pod_columns.REPLICATION_CONTROLLER),
    "ResourceQuota": Kind(core.RESOURCE_QUOTA, core_columns.RESOURCE_QUOTA),
    "Secret": Kind(secrets.SECRET, core_columns.SECRET),
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

# Asked and answered at once, and never stored: the answers are `access.reviews`.
_REVIEW = Kind(Strategy(), ())

# By group, then kind; each in version v1.
KINDS: Mapping[str, Mapping[str, Kind]] = {
    "": _CORE,
    "apps": _APPS,
    EVENTS: {"Event": Kind(events.NEW_EVENT, event_columns.NEW_EVENT)},
    "batch": {
        "CronJob": Kind(batch.CRON_JOB, workload_columns.CRON_JOB),
        "Job": Kind(batch.JOB, workload_columns.JOB),
    },
    RBAC: {
        "ClusterRole": Kind(rbac.CLUSTER_ROLE, access.ROLE),
        "ClusterRoleBinding": Kind(rbac.CLUSTER_ROLE_BINDING, access.BINDING),
        "Role": Kind(rbac.ROLE, access.ROLE),
        "RoleBinding": Kind(rbac.ROLE_BINDING, access.BINDING),
    },
    "apiextensions.k8s.io": {
        "CustomResourceDefinition": Kind(definitions.DEFINITION, (cells.NAME, cells.CREATED_AT)),
    },
    apiregistration.GROUP: {
        "APIService": Kind(apiregistration.API_SERVICE, apiregistration.COLUMNS)
    },
    "coordination.k8s.io": {"Lease": Kind(coordination.LEASE, access.LEASE)},
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
            certificates.CERTIFICATE_SIGNING_REQUEST, access.CERTIFICATE_SIGNING_REQUEST
        ),
    },
    "discovery.k8s.io": {
        "EndpointSlice": Kind(slices.ENDPOINT_SLICE, slice_columns.ENDPOINT_SLICE)
    },
    "scheduling.k8s.io": {
        "PriorityClass": Kind(scheduling.PRIORITY_CLASS, scheduling_columns.PRIORITY_CLASS)
    },
    "storage.k8s.io": {"StorageClass": Kind(storage.STORAGE_CLASS, storage_columns.STORAGE_CLASS)},
}


def builtin_resources(facts: Facts) -> list[Resource]:
    """The built-in resources that are served, in discovery order."""
    return [
        _resource(facts, known, kind)
        for known in facts.kinds
        if known.version == "v1" and (kind := KINDS.get(known.group, {}).get(known.kind))
    ]


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
    )
    if known.group != EVENTS:
        return resource
    return replace(
        resource, stored_in="events", from_stored=events.from_core, to_stored=events.to_core
    )


def _defaulted(schema: Schema, default: Callable[[Object], None]) -> Callable[[Object], None]:
    def fill(obj: Object) -> None:
        """The kind's own defaults, then the zero values Kubernetes always writes; in place."""
        default(obj)
        fill_zeros(schema, obj)

    return fill
