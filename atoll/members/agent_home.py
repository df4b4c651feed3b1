"""What an agent needs in its own cluster: a place, an account, rights, and its way to the plane.

By the names Karmada gives them. Where an image is named, a Deployment runs the agent as well.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from atoll.client.collection import Collection
from atoll.client.endpoint import Endpoint
from atoll.client.kubeconfig import kubeconfig_text
from atoll.client.plain import PlainClient
from atoll.dialects.karmada import names
from atoll.errors import UsageError
from atoll.members import objects
from atoll.members.confining import SCRATCH, SCRATCH_MOUNT, container_confinement, pod_confinement
from atoll.wire import Wire

DEPLOYMENTS = Collection("apps/v1", "Deployment", "deployments", namespaced=True)
AGENT = "karmada-agent"
ACCOUNT = "karmada-agent-sa"
KUBECONFIG = "karmada-kubeconfig"
PLANE = "karmada-apiserver"  # as kubeconfigs of agents call it

_MOUNT = "/etc/kubeconfig"
_RULES = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["get"]},
]
_REQUESTS = {"cpu": "50m", "memory": "128Mi"}
# Where each part is, and which fields of one that is there already are made anew.
_PARTS: dict[str, tuple[Collection, tuple[str, ...]]] = {
    "Namespace": (objects.NAMESPACES, ()),
    "Secret": (objects.SECRETS, ("data",)),
    "ServiceAccount": (objects.ACCOUNTS, ()),
    "ClusterRole": (objects.ROLES, ("rules",)),
    "ClusterRoleBinding": (objects.ROLE_BINDINGS, ("subjects",)),
    "Deployment": (DEPLOYMENTS, ("spec",)),
}


@dataclass(frozen=True, slots=True)
class Housing:
    """Where the agent lives in its cluster, and by which image it runs there; empty: it does not.

    `words` are what `atoll agent` is told beside where the plane is.
    """

    space: str = names.SYSTEM_NAMESPACE
    image: str = ""
    words: tuple[str, ...] = ()


def agent_kubeconfig(cluster: str, plane: Endpoint) -> str:
    """An agent's way to the plane, as its kubeconfig."""
    return kubeconfig_text(PLANE, cluster, f"{cluster}@{PLANE}", plane)


def check_home(member: PlainClient, cluster: str, space: str, authority: bytes | None) -> None:
    """UsageError if a cluster has an agent by another name, or one of another plane."""
    secret = member.find(objects.SECRETS.path(space, KUBECONFIG))
    if secret is None:
        return
    user, known = _read(secret)
    if user != cluster:
        raise UsageError(
            f'this cluster has an agent as "{user}" already; '
            f"use that name, or first: atoll unregister {user}"
        )
    if authority is not None and known != authority:
        raise UsageError(
            f"this cluster has an agent of another plane in namespace {space}; "
            "unregister it there, or name another --namespace"
        )


def _read(secret: Wire) -> tuple[str, bytes]:
    """By which name an agent speaks, and by what it knows its plane."""
    try:
        document = yaml.safe_load(base64.b64decode((secret.get("data") or {})[KUBECONFIG]))
        cluster = document["clusters"][0]["cluster"]
        authority = base64.b64decode(cluster.get("certificate-authority-data") or "")
        return str(document["users"][0]["name"]), authority
    except (yaml.YAMLError, LookupError, TypeError, AttributeError, binascii.Error) as error:
        where = f"{secret['metadata'].get('namespace')}/{KUBECONFIG}"
        raise UsageError(
            f"Secret {where} in the cluster is no kubeconfig of an agent; delete it first"
        ) from error


def settle(member: PlainClient, cluster: str, housing: Housing, kubeconfig: str) -> None:
    """Have all that an agent needs in its cluster, and the agent itself if it is to run there."""
    for wire in home(cluster, housing, kubeconfig):
        collection, parts = _PARTS[wire["kind"]]
        if parts:
            objects.put(member, collection, wire, parts)
        else:
            objects.make(member, collection, wire)


def home(cluster: str, housing: Housing, kubeconfig: str) -> list[Wire]:
    """All that an agent needs in its cluster, in the order in which it is made."""
    secret = objects.named("v1", "Secret", KUBECONFIG, housing.space)
    data = {KUBECONFIG: base64.b64encode(kubeconfig.encode()).decode()}
    return [
        objects.named("v1", "Namespace", housing.space),
        {**secret, "type": "Opaque", "data": data},
        objects.named("v1", "ServiceAccount", ACCOUNT, housing.space),
        {**objects.named(objects.RBAC, "ClusterRole", AGENT), "rules": _RULES},
        objects.account_binding(AGENT, ACCOUNT, housing.space),
        *([_deployment(cluster, housing)] if housing.image else []),
    ]


def _deployment(cluster: str, housing: Housing) -> Wire:
    labels = {"app": AGENT}
    words = [
        "agent",
        f"--karmada-kubeconfig={_MOUNT}/{KUBECONFIG}",
        f"--karmada-kubeconfig-namespace={housing.space}",
        f"--cluster-name={cluster}",
        *housing.words,
    ]
    container = {
        "name": AGENT,
        "image": housing.image,
        "command": ["atoll"],
        "args": words,
        "resources": {"requests": _REQUESTS},
        "securityContext": container_confinement(),
        "volumeMounts": [
            {"name": "kubeconfig", "mountPath": _MOUNT, "readOnly": True},
            SCRATCH_MOUNT,
        ],
    }
    pod = {
        "serviceAccountName": ACCOUNT,
        "securityContext": pod_confinement(),
        "containers": [container],
        "volumes": [{"name": "kubeconfig", "secret": {"secretName": KUBECONFIG}}, SCRATCH],
        "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}],
    }
    wire = objects.named(DEPLOYMENTS.api_version, DEPLOYMENTS.kind, AGENT, housing.space)
    wire["metadata"]["labels"] |= labels
    wire["spec"] = {
        "replicas": 1,
        # Two of them would not hinder each other, but say everything twice.
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    return wire


def _parts(space: str) -> Iterator[tuple[Collection, str, str]]:
    yield DEPLOYMENTS, space, AGENT
    yield objects.ROLE_BINDINGS, "", AGENT
    yield objects.ROLES, "", AGENT
    yield objects.ACCOUNTS, space, ACCOUNT
    yield objects.SECRETS, space, KUBECONFIG


def described_home(housing: Housing) -> list[str]:
    """What is made in the cluster, for people."""
    return [
        f"Namespace {housing.space}",
        *parts_of(housing.space, with_agent=bool(housing.image)).values(),
    ]


def parts_of(space: str, *, with_agent: bool = True) -> dict[str, str]:
    """Where each part of an agent's home is found in its cluster, and what it is."""
    return {
        collection.path(within, name): f"{collection.kind} {within + '/' if within else ''}{name}"
        for collection, within, name in _parts(space)
        if with_agent or collection is not DEPLOYMENTS
    }
