"""The objects that joining makes, by the names Karmada gives them, and how they are made.

Used on both sides. Whatever is there already is not an error.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from atoll.client.collection import Collection
from atoll.client.plain import PlainClient
from atoll.client.refusals import Missing, Refused, Taken
from atoll.dialects.karmada import names
from atoll.errors import UsageError
from atoll.wire import Wire

CLUSTER_VERSION = "cluster.karmada.io/v1alpha1"
RBAC = "rbac.authorization.k8s.io/v1"
CLUSTERS = Collection(CLUSTER_VERSION, "Cluster", "clusters", namespaced=False)
NAMESPACES = Collection("v1", "Namespace", "namespaces", namespaced=False)
SECRETS = Collection("v1", "Secret", "secrets", namespaced=True)
ACCOUNTS = Collection("v1", "ServiceAccount", "serviceaccounts", namespaced=True)
ROLES = Collection(RBAC, "ClusterRole", "clusterroles", namespaced=False)
ROLE_BINDINGS = Collection(RBAC, "ClusterRoleBinding", "clusterrolebindings", namespaced=False)
IMPERSONATOR = "karmada-impersonator"


_LABELS = {names.SYSTEM: "true"}


def account_of(cluster: str) -> str:
    """The service account in a member by which the plane speaks to it."""
    return f"karmada-{cluster}"


def role_of(cluster: str) -> str:
    """The role in a member that the plane has there, and its binding."""
    return f"karmada-controller-manager:{account_of(cluster)}"


def identity(member: PlainClient) -> str:
    """What tells a cluster from every other: the uid of its namespace kube-system."""
    answer = member.get(NAMESPACES.path(name="kube-system"))
    if not isinstance(answer, dict) or not (answer.get("metadata") or {}).get("uid"):
        raise UsageError(f"{member.endpoint} is no Kubernetes API server")
    uid: str = answer["metadata"]["uid"]
    return uid


def plane_identity(plane: PlainClient) -> str:
    """The same of a plane, which need not have that namespace, nor let everyone look."""
    try:
        return identity(plane)
    except (Refused, UsageError):
        return plane.endpoint.server


def clusters_of(plane: PlainClient) -> list[Wire]:
    """All Clusters of a plane; UsageError if it is none."""
    try:
        return plane.list(CLUSTERS)
    except Missing as error:
        raise UsageError(
            f"{plane.endpoint} is no plane, as it knows no Clusters; name one with --kubeconfig"
        ) from error


@contextmanager
def speaking_to(client: PlainClient) -> Iterator[None]:
    """Of two servers that may refuse, say which did."""
    try:
        yield
    except Refused as error:
        advice = "; renew the credentials for it" if error.code == 401 else ""
        told = f"{client.endpoint} refused: {error}{advice}"
        raise type(error)(error.code, {"message": told, "reason": error.reason}) from error


def named(api_version: str, kind: str, name: str, namespace: str = "") -> Wire:
    metadata: Wire = {"name": name, "labels": dict(_LABELS)}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def account_binding(role: str, account: str, namespace: str) -> Wire:
    """The binding, of the same name, that gives an account a ClusterRole."""
    return {
        **named(RBAC, "ClusterRoleBinding", role),
        "roleRef": {"apiGroup": RBAC.partition("/")[0], "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }


def cluster_of(name: str, spec: Wire) -> Wire:
    metadata = {"name": name}
    return {"apiVersion": CLUSTER_VERSION, "kind": "Cluster", "metadata": metadata, "spec": spec}


def own_secrets(plane: PlainClient, cluster: Wire, secrets: Iterable[Wire]) -> None:
    """Let Secrets of a Cluster go when it goes."""
    owner = {
        "apiVersion": CLUSTER_VERSION,
        "kind": "Cluster",
        "name": cluster["metadata"]["name"],
        "uid": cluster["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    for secret in secrets:
        plane.patch(SECRETS.path_of(secret), {"metadata": {"ownerReferences": [owner]}})


def make(client: PlainClient, collection: Collection, wire: Wire) -> None:
    """Have an object; one that is there stays as it is."""
    if client.find(collection.path_of(wire)) is None:
        with suppress(Taken):
            client.create(collection, wire)


def put(client: PlainClient, collection: Collection, wire: Wire, parts: tuple[str, ...]) -> None:
    """Have an object with these parts as they are here."""
    try:
        client.create(collection, wire)
    except Taken:
        client.patch(collection.path_of(wire), {part: wire[part] for part in parts})
