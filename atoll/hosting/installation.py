"""The objects by which this program runs in a cluster: wishes come in, plain objects go out.

The chart in deploy/ renders the same ones, and a test holds it to that. What the program makes by
itself once it runs, CustomResourceDefinitions, APIService and webhooks with their certificates, is
not known here, nor is any server.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from atoll import __version__
from atoll.members.confining import SCRATCH, SCRATCH_MOUNT, container_confinement, pod_confinement
from atoll.wire import Wire

Rules = Sequence[Mapping[str, Any]]

NAMESPACE = "atoll-system"
NAME = "atoll"
PORT = 8443
LABELS = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/component": "control-plane"}
SERVING_SECRET = "atoll-serving"
PLANE_SECRET = "atoll-plane"
TOKEN_SECRET = "atoll-token"
METRICS = "atoll-metrics"
"""The role that may read our numbers; also who has it, and that one's token, for a monitor."""
ON_PLANE = "placement.atoll.io/plane"
"""The annotation of a way to a plane that says to which."""

_PLANE_KEY, _TOKEN_KEY = "kubeconfig", "token"
_PLANE_MOUNT = "/etc/atoll"
_RBAC = "rbac.authorization.k8s.io"
_HOSTNAME, _ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True)
class Resources:
    """What a container asks for, and what it may not exceed."""

    requests: Mapping[str, str] = field(default_factory=lambda: {"cpu": "100m", "memory": "256Mi"})
    limits: Mapping[str, str] = field(default_factory=lambda: {"memory": "1Gi"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """Rules of its roles: in the whole cluster, and in its own namespace."""

    everywhere: Rules
    at_home: Rules


@dataclass(frozen=True, slots=True)
class Plane:
    """An API server for users other than that of the cluster in which the replicas run.

    It reaches them at a URL; they reach it by the kubeconfig in a Secret, made if it is given here.
    So is the one by which a monitor reads their numbers, whose token the plane knows. `uid` tells
    planes apart.
    """

    url: str
    kubeconfig: str = field(default="", repr=False)
    metrics_token: str = field(default="", repr=False)
    uid: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """How it is to run. `words` are further options of `atoll run`."""

    namespace: str = NAMESPACE
    image: str = f"{NAME}:{__version__}"
    pull_policy: str = "IfNotPresent"
    pull_secrets: tuple[str, ...] = ()
    replicas: int = 2
    resources: Resources = field(default_factory=Resources)
    words: tuple[str, ...] = ()
    priority_class: str = ""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()
    with_network_policy: bool = True
    with_service_monitor: bool = False
    plane: Plane | None = None


def objects_of(wanted: Installation, rights: Rights) -> list[Wire]:
    """All objects of an installation, in the order in which they are made."""
    plane = wanted.plane
    return [
        _namespace(wanted),
        _object("v1", "ServiceAccount", wanted.namespace),
        *(_roles(wanted, rights) if plane is None else _ways(wanted, plane)),
        _service(wanted),
        _deployment(wanted),
        _disruption_budget(wanted),
        *([_network_policy(wanted)] if wanted.with_network_policy else []),
        *(_monitor(wanted) if wanted.with_service_monitor and plane is None else []),
        *([_service_monitor(wanted)] if wanted.with_service_monitor else []),
    ]


def objects_on_plane(wanted: Installation, rights: Rights) -> list[Wire]:
    """What the API server of a plane elsewhere must have for the replicas to be let in there."""
    return [
        _namespace(wanted),
        _object("v1", "ServiceAccount", wanted.namespace),
        _token(wanted, NAME, TOKEN_SECRET),
        *_roles(wanted, rights),
        *(_monitor(wanted) if wanted.with_service_monitor else []),
    ]


def _object(api_version: str, kind: str, namespace: str = "", name: str = NAME) -> Wire:
    metadata: Wire = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    metadata["labels"] = {**LABELS, "app.kubernetes.io/version": __version__}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _namespace(wanted: Installation) -> Wire:
    wire = _object("v1", "Namespace", name=wanted.namespace)
    wire["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = "restricted"
    return wire


def _roles(wanted: Installation, rights: Rights) -> list[Wire]:
    version, space = f"{_RBAC}/v1", wanted.namespace
    return [
        {**_object(version, "ClusterRole"), "rules": list(rights.everywhere)},
        {**_object(version, "ClusterRoleBinding"), **_bound(wanted, "ClusterRole", NAME)},
        {**_object(version, "Role", space), "rules": list(rights.at_home)},
        {**_object(version, "RoleBinding", space), **_bound(wanted, "Role", NAME)},
        {
            # By whom the host says who asks, which every aggregated API is let know this way.
            **_object(version, "RoleBinding", "kube-system", f"{NAME}-authentication-reader"),
            **_bound(wanted, "Role", "extension-apiserver-authentication-reader"),
        },
    ]


def _ways(wanted: Installation, plane: Plane) -> list[Wire]:
    """How replicas and a monitor reach the plane; what they may do is said there."""
    if not plane.kubeconfig:
        return []
    way = _secret(wanted, PLANE_SECRET, _PLANE_KEY, plane.kubeconfig)
    way["metadata"]["annotations"] = {ON_PLANE: plane.uid}
    numbers = _secret(wanted, METRICS, _TOKEN_KEY, plane.metrics_token)
    return [way, numbers] if wanted.with_service_monitor else [way]


def _secret(wanted: Installation, name: str, key: str, text: str) -> Wire:
    data = {key: base64.b64encode(text.encode()).decode()}
    return {**_object("v1", "Secret", wanted.namespace, name), "type": "Opaque", "data": data}


def _token(wanted: Installation, account: str, name: str) -> Wire:
    """A Secret that the cluster itself puts a token of an account into."""
    secret = _object("v1", "Secret", wanted.namespace, name)
    secret["metadata"]["annotations"] = {"kubernetes.io/service-account.name": account}
    return {**secret, "type": "kubernetes.io/service-account-token"}


def _monitor(wanted: Installation) -> list[Wire]:
    """As whom a monitor reads our numbers."""
    bound = _bound(wanted, "ClusterRole", METRICS, METRICS)
    return [
        _object("v1", "ServiceAccount", wanted.namespace, METRICS),
        _token(wanted, METRICS, METRICS),
        {**_object(f"{_RBAC}/v1", "ClusterRoleBinding", name=METRICS), **bound},
    ]


def _bound(wanted: Installation, kind: str, role: str, account: str = NAME) -> Wire:
    return {
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": wanted.namespace}],
    }


def _service(wanted: Installation) -> Wire:
    port = {"name": "https", "port": 443, "targetPort": "https", "protocol": "TCP"}
    spec = {"type": "ClusterIP", "selector": LABELS, "ports": [port]}
    return {**_object("v1", "Service", wanted.namespace), "spec": spec}


def _deployment(wanted: Installation) -> Wire:
    metadata = {"labels": {**LABELS, "app.kubernetes.io/version": __version__}}
    spec = {
        "replicas": wanted.replicas,
        # The new one serves before an old one goes: webhooks are waited for by every writer.
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1},
        },
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": metadata, "spec": _pod(wanted)},
    }
    return {**_object("apps/v1", "Deployment", wanted.namespace), "spec": spec}


def _pod(wanted: Installation) -> Wire:
    pod: Wire = {
        "serviceAccountName": NAME,
        "securityContext": pod_confinement(),
        # To stop leading, to be forgotten by those who ask, and to finish answers.
        "terminationGracePeriodSeconds": 60,
        "containers": [_container(wanted)],
        "volumes": [SCRATCH],
        "topologySpreadConstraints": [_spread(_HOSTNAME), _spread(_ZONE)],
    }
    if wanted.pull_secrets:
        pod["imagePullSecrets"] = [{"name": each} for each in wanted.pull_secrets]
    if wanted.priority_class:
        pod["priorityClassName"] = wanted.priority_class
    if wanted.node_selector:
        pod["nodeSelector"] = dict(wanted.node_selector)
    if wanted.tolerations:
        pod["tolerations"] = list(wanted.tolerations)
    if wanted.plane is not None:
        pod["automountServiceAccountToken"] = False
        pod["volumes"] = [SCRATCH, {"name": "plane", "secret": {"secretName": PLANE_SECRET}}]
    return pod


def _spread(topology: str) -> Wire:
    return {
        "maxSkew": 1,
        "topologyKey": topology,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": LABELS},
    }


def _container(wanted: Installation) -> Wire:
    words = ["run", f"--namespace={wanted.namespace}", f"--port={PORT}"]
    mounts: list[Wire] = [SCRATCH_MOUNT]
    if wanted.plane is not None:
        words += [f"--kubeconfig={_PLANE_MOUNT}/{_PLANE_KEY}", f"--serve-at={wanted.plane.url}"]
        mounts.append({"name": "plane", "mountPath": _PLANE_MOUNT, "readOnly": True})
    return {
        "name": NAME,
        "image": wanted.image,
        "imagePullPolicy": wanted.pull_policy,
        "command": ["atoll"],
        "args": [*words, *wanted.words],
        "ports": [{"name": "https", "containerPort": PORT, "protocol": "TCP"}],
        # It may take a while until the host answers and knows our kinds.
        "startupProbe": {**_probe("/livez", 2), "failureThreshold": 60},
        "livenessProbe": {**_probe("/livez", 10), "failureThreshold": 3},
        "readinessProbe": {**_probe("/readyz", 5), "failureThreshold": 2},
        "resources": {
            "requests": dict(wanted.resources.requests),
            "limits": dict(wanted.resources.limits),
        },
        "securityContext": container_confinement(),
        "volumeMounts": mounts,
    }


def _probe(path: str, every_s: int) -> Wire:
    asked = {"path": path, "port": "https", "scheme": "HTTPS"}
    return {"httpGet": asked, "periodSeconds": every_s, "timeoutSeconds": 5}


def _disruption_budget(wanted: Installation) -> Wire:
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": LABELS}}
    return {**_object("policy/v1", "PodDisruptionBudget", wanted.namespace), "spec": spec}


def _network_policy(wanted: Installation) -> Wire:
    """Only its port is open, to all: nobody can foretell from where the host's API server asks."""
    spec = {
        "podSelector": {"matchLabels": LABELS},
        "policyTypes": ["Ingress"],
        "ingress": [{"ports": [{"port": "https", "protocol": "TCP"}]}],
    }
    return {**_object("networking.k8s.io/v1", "NetworkPolicy", wanted.namespace), "spec": spec}


def _service_monitor(wanted: Installation) -> Wire:
    # The authority is kept in the plane, which may be elsewhere.
    authority = {"ca": {"secret": {"name": SERVING_SECRET, "key": "ca.crt"}}}
    trust = authority if wanted.plane is None else {"insecureSkipVerify": True}
    endpoint = {
        "port": "https",
        "scheme": "https",
        "path": "/metrics",
        "authorization": {"type": "Bearer", "credentials": {"name": METRICS, "key": _TOKEN_KEY}},
        "tlsConfig": {**trust, "serverName": f"{NAME}.{wanted.namespace}.svc"},
    }
    spec = {
        "selector": {"matchLabels": LABELS},
        "namespaceSelector": {"matchNames": [wanted.namespace]},
        "endpoints": [endpoint],
    }
    return {**_object("monitoring.coreos.com/v1", "ServiceMonitor", wanted.namespace), "spec": spec}
