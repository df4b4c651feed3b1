"""Joining a member cluster: what the plane needs in the member, and what it keeps of it itself.

Two clients and a description come in; afterwards both sides have what Karmada would have made, by
the same names. Whatever is there already is kept or completed, so that a join that was interrupted
is just repeated. Refused before anything is written: a name, or a cluster, that is joined already.
"""

import base64
import binascii
import json
from dataclasses import dataclass
from urllib.parse import urlencode

from atoll.client.collection import Collection
from atoll.client.endpoint import Endpoint
from atoll.client.plain import PlainClient, Wire
from atoll.client.refusals import Missing, Refused, Taken
from atoll.dialects.karmada import names
from atoll.dialects.karmada.cluster_rules import name_problems
from atoll.errors import UsageError

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
_ACCOUNT = "kubernetes.io/service-account.name"
_RULES = [
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["get"], "nonResourceURLs": ["*"]},
]
# As long as Karmada waits for the cluster to write a token.
_TOKEN_WAIT_S = 30
_TEN_YEARS_S = 10 * 365 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Description:
    """What a cluster is to be called in the plane, and what its user says of it."""

    name: str
    provider: str = ""
    region: str = ""
    zones: tuple[str, ...] = ()
    proxy: str = ""
    """Through which the plane is to reach it, a URL."""
    namespace: str = names.CLUSTER_NAMESPACE
    """For the plane's account in the member, and for the Secrets in the plane."""

    def objects(self) -> tuple[list[str], list[str]]:
        """What joining makes in the member, and in the plane."""
        account, space = account_of(self.name), self.namespace
        there = [
            f"Namespace {space}",
            f"ServiceAccount {space}/{IMPERSONATOR}, and a Secret with its token",
            f"ServiceAccount {space}/{account}, and a Secret with its token",
            f"ClusterRole {role_of(self.name)}, which may do anything, and its binding",
        ]
        here = [
            f"Namespace {space}",
            f"Secret {space}/{self.name}-impersonator",
            f"Secret {space}/{self.name}",
            f"Cluster {self.name}",
        ]
        return there, here


def account_of(cluster: str) -> str:
    """The service account in a member by which the plane speaks to it."""
    return f"karmada-{cluster}"


def role_of(cluster: str) -> str:
    """The role in a member that the plane has there, and its binding."""
    return f"karmada-controller-manager:{account_of(cluster)}"


def identity(member: PlainClient) -> str:
    """What tells a cluster from every other: the uid of its namespace kube-system."""
    uid: str = member.get(NAMESPACES.path(name="kube-system"))["metadata"]["uid"]
    return uid


def _identity_or_none(plane: PlainClient) -> str | None:
    try:
        return identity(plane)
    except Refused:
        # It need not have such a namespace, nor let everyone look.
        return None


def check(plane: PlainClient, member: PlainClient, description: Description) -> Wire | None:
    """The Cluster that this very cluster has already by this name; UsageError if it may not join.

    Nothing is written.
    """
    name = description.name
    problems = name_problems(name)
    if problems:
        raise UsageError(f'a cluster cannot be called "{name}": {"; ".join(problems)}')
    own, known = identity(member), None
    if own == _identity_or_none(plane):
        raise UsageError(f"{member.endpoint} is the plane itself, and cannot be its own member")
    for cluster in plane.list(CLUSTERS):
        taken, spec = cluster["metadata"]["name"], cluster.get("spec") or {}
        if spec.get("id") == own and taken != name:
            raise UsageError(
                f'this cluster has joined as "{taken}" already; '
                f"use that name, or first: atoll unjoin {taken}"
            )
        if taken == name:
            known = cluster
    if known is not None:
        _may_join_again(known, own, member)
    return known


def _may_join_again(known: Wire, own: str, member: PlainClient) -> None:
    name, spec = known["metadata"]["name"], known.get("spec") or {}
    if known["metadata"].get("deletionTimestamp"):
        raise UsageError(f'cluster "{name}" is on its way out of the plane; join when it is gone')
    if spec.get("syncMode") == "Pull":
        raise UsageError(f'cluster "{name}" has an agent and is not to be joined as well')
    # A Cluster that somebody wrote by hand may say only where the cluster is.
    is_it = spec["id"] == own if spec.get("id") else _is_at(spec, member)
    if not is_it:
        raise UsageError(f'another cluster has joined as "{name}" already; choose another name')


def _is_at(spec: Wire, member: PlainClient) -> bool:
    return bool(spec.get("apiEndpoint", "").rstrip("/") == member.endpoint.server)


def join(
    plane: PlainClient,
    member: PlainClient,
    description: Description,
    token_wait_s: int = _TOKEN_WAIT_S,
) -> list[str]:
    """Join a cluster, or complete what an earlier join began; gives what the user should know."""
    known = check(plane, member, description)
    space = description.namespace
    _make(member, NAMESPACES, _named("v1", "Namespace", space))
    for account in (IMPERSONATOR, account_of(description.name)):
        _make(member, ACCOUNTS, _named("v1", "ServiceAccount", account, space))
    _grant(member, description)
    impersonator = _credentials(member, space, IMPERSONATOR, token_wait_s)
    own = _credentials(member, space, account_of(description.name), token_wait_s)
    notes = [*impersonator.notes, *own.notes]
    bundle = _bundle(own.authority, member.endpoint.ca)
    _try_out(member, own, bundle)
    _register(plane, member, description, known, keys=(impersonator, own, bundle))
    if member.endpoint.server_name:
        notes.append(
            f"the kubeconfig's tls-server-name {member.endpoint.server_name} has no place in a "
            "Cluster; the plane will expect the name in the address"
        )
    return notes


# In the member.


def _grant(member: PlainClient, description: Description) -> None:
    """Let the plane's account do everything, as it must be able to deliver anything."""
    role = role_of(description.name)
    _put(member, ROLES, {**_named(RBAC, "ClusterRole", role), "rules": _RULES}, ("rules",))
    account = {
        "kind": "ServiceAccount",
        "name": account_of(description.name),
        "namespace": description.namespace,
    }
    binding = {
        **_named(RBAC, "ClusterRoleBinding", role),
        "subjects": [account],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
    }
    _put(member, ROLE_BINDINGS, binding, ("subjects",))


@dataclass(frozen=True, slots=True)
class _Credentials:
    """A token and what its server is to be trusted by, base64 as Secrets have them."""

    token: str
    authority: str = ""
    notes: tuple[str, ...] = ()


def _credentials(member: PlainClient, space: str, account: str, wait_s: int) -> _Credentials:
    secret = {
        **_named("v1", "Secret", account, space),
        "type": "kubernetes.io/service-account-token",
    }
    secret["metadata"]["annotations"] = {_ACCOUNT: account}
    _make(member, SECRETS, secret)
    data = _filled(member, secret, wait_s)
    if data is not None:
        return _Credentials(data["token"], data.get("ca.crt", ""))
    return _requested(member, space, account, wait_s)


def _filled(member: PlainClient, secret: Wire, wait_s: int) -> Wire | None:
    """The content of a token Secret once the cluster has written it; None if it does not."""
    stored = member.get(SECRETS.path_of(secret))
    data: Wire = stored.get("data") or {}
    if data.get("token"):
        return data
    query = {
        "watch": "1",
        "fieldSelector": f"metadata.name={secret['metadata']['name']}",
        "resourceVersion": stored["metadata"]["resourceVersion"],
        "timeoutSeconds": str(wait_s),
    }
    place = SECRETS.path(secret["metadata"]["namespace"])
    # The server ends the watch in time; one that does not has stopped answering.
    with member.stream(place, urlencode(query), silence_s=2.0 * wait_s + 10) as lines:
        for line in lines:
            data = json.loads(line).get("object", {}).get("data") or {}
            if data.get("token"):
                return data
    return None


def _requested(member: PlainClient, space: str, account: str, wait_s: int) -> _Credentials:
    """A token asked for directly.

    Token Secrets are filled by kube-controller-manager, and some API servers run without it, or
    with that part of it switched off. Such a token ends some day, so the other kind comes first.
    """
    path = ACCOUNTS.path(space, account, "token")
    wanted = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": _TEN_YEARS_S},
    }
    content = json.dumps(wanted).encode()
    try:
        status = member.request("POST", path, body=content).json()["status"]
    except Refused as error:
        raise UsageError(
            f"{member.endpoint.server} wrote no token into the Secret {space}/{account} within "
            f"{wait_s} s, and gives none on request either: {error}"
        ) from error
    until = status.get("expirationTimestamp", "some day")
    note = f"the token of {space}/{account} is valid until {until}; join again before"
    return _Credentials(base64.b64encode(status["token"].encode()).decode(), "", (note,))


def _bundle(authority: str, given: bytes | None) -> str:
    """What the plane shall trust: what the cluster says of itself, and what its user trusts.

    They differ where the address in the kubeconfig is not that of the API server itself.
    """
    try:
        own = base64.b64decode(authority)
    except binascii.Error:
        own = b""
    parts = [own.strip()] if own.strip() else []
    if given is not None and given.strip() not in own:
        parts.append(given.strip())
    return base64.b64encode(b"\n".join([*parts, b""])).decode() if parts else ""


def _try_out(member: PlainClient, credentials: _Credentials, bundle: str) -> None:
    """Whether the member can be reached as the plane will: Unreachable if not.

    Who is let in is not asked: a server may take a moment to know its new accounts.
    """
    endpoint = Endpoint(
        server=member.endpoint.server,
        ca=base64.b64decode(bundle) or None,
        token=base64.b64decode(credentials.token).decode(),
        skip_verification=member.endpoint.skip_verification,
        proxy=member.endpoint.proxy,
    )
    trial = PlainClient(endpoint)
    try:
        trial.request("GET", "/version")
    finally:
        trial.close()


# In the plane.


def _register(
    plane: PlainClient,
    member: PlainClient,
    description: Description,
    known: Wire | None,
    *,
    keys: tuple[_Credentials, _Credentials, str],
) -> None:
    impersonator, own, bundle = keys
    name, space = description.name, description.namespace
    _make(plane, NAMESPACES, _named("v1", "Namespace", space))
    theirs = {
        **_named("v1", "Secret", f"{name}-impersonator", space),
        "data": {"token": impersonator.token},
    }
    ours = {
        **_named("v1", "Secret", name, space),
        "data": {"caBundle": bundle, "token": own.token},
    }
    for secret in (theirs, ours):
        _put(plane, SECRETS, secret, ("data",))
    spec = _spec(member, description)
    if known is None:
        said = {key: value for key, value in spec.items() if value is not None}
        known = plane.create(CLUSTERS, _cluster(name, said))
    else:
        known = plane.patch(CLUSTERS.path(name=name), {"spec": spec})
    owner = {
        "apiVersion": CLUSTER_VERSION,
        "kind": "Cluster",
        "name": name,
        "uid": known["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    for secret in (theirs, ours):
        plane.patch(SECRETS.path_of(secret), {"metadata": {"ownerReferences": [owner]}})


def _cluster(name: str, spec: Wire) -> Wire:
    return {
        "apiVersion": CLUSTER_VERSION,
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": spec,
    }


def _spec(member: PlainClient, description: Description) -> Wire:
    """What is known of the cluster now; what its user does not say stays as it is."""
    space, endpoint = description.namespace, member.endpoint
    told = {
        "provider": description.provider,
        "region": description.region,
        "zones": list(description.zones),
        "proxyURL": description.proxy,
    }
    return {
        "syncMode": "Push",
        "id": identity(member),
        "apiEndpoint": endpoint.server,
        "secretRef": {"namespace": space, "name": description.name},
        "impersonatorSecretRef": {"namespace": space, "name": f"{description.name}-impersonator"},
        "insecureSkipTLSVerification": endpoint.skip_verification or None,
        **{key: value for key, value in told.items() if value},
    }


# On either side.


def _named(api_version: str, kind: str, name: str, namespace: str = "") -> Wire:
    metadata: Wire = {"name": name, "labels": dict(_LABELS)}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _make(client: PlainClient, collection: Collection, wire: Wire) -> None:
    """Have an object; one that is there stays as it is."""
    try:
        client.get(collection.path_of(wire))
    except Missing:
        try:
            client.create(collection, wire)
        except Taken:
            return


def _put(client: PlainClient, collection: Collection, wire: Wire, parts: tuple[str, ...]) -> None:
    """Have an object with these parts as they are here."""
    try:
        client.create(collection, wire)
    except Taken:
        client.patch(collection.path_of(wire), {part: wire[part] for part in parts})
