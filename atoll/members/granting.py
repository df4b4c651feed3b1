"""What the plane needs in a member to speak to it: accounts, rights and tokens.

A client for the member comes in, the tokens go out, and what the plane is to trust the member by.
Each account has a note of the planes that use it, so that none takes it from another.
"""

import base64
import binascii
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from urllib.parse import urlencode

from atoll.client.collection import Collection
from atoll.client.endpoint import Endpoint
from atoll.client.plain import PlainClient
from atoll.client.refusals import Refused, Taken
from atoll.client.transport import Unreachable
from atoll.errors import UsageError
from atoll.members import objects
from atoll.wire import Wire

JOINED_BY = "atoll.io/joined-by"


def claim(member: PlainClient, space: str, account: str, plane: str) -> None:
    """Have an account, and note that this plane uses it, unless somebody else made it."""
    wire = objects.named("v1", "ServiceAccount", account, space)
    wire["metadata"]["annotations"] = {JOINED_BY: plane}
    path = objects.ACCOUNTS.path_of(wire)
    stored = member.find(path)
    if stored is None:
        try:
            member.create(objects.ACCOUNTS, wire)
            return
        except Taken:
            stored = member.get(path)
    users = _users(stored)
    if users and plane not in users:
        _note(member, path, [*users, plane])


def release(member: PlainClient, space: str, account: str, plane: str) -> str:
    """This plane needs an account no more; gives who does, nothing if it may be removed."""
    path = objects.ACCOUNTS.path(space, account)
    stored = member.find(path)
    if stored is None:
        return ""
    users = _users(stored)
    if not users:
        return "which another tool made"
    others = [each for each in users if each != plane]
    if others:
        _note(member, path, others)
        return "which another plane uses"
    return ""


def _users(account: Wire) -> list[str]:
    noted = (account["metadata"].get("annotations") or {}).get(JOINED_BY) or ""
    return [each for each in noted.split(",") if each]


def _note(member: PlainClient, path: str, users: list[str]) -> None:
    member.patch(path, {"metadata": {"annotations": {JOINED_BY: ",".join(users)}}})


_ACCOUNT = "kubernetes.io/service-account.name"
_RULES = [
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["get"], "nonResourceURLs": ["*"]},
]
_TEN_YEARS_S = 10 * 365 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Credentials:
    """A token and what its server is to be trusted by, base64 as Secrets have them."""

    token: str
    authority: str = ""
    notes: tuple[str, ...] = ()


def grant(
    member: PlainClient, name: str, space: str, plane: str, wait_s: int
) -> tuple[Credentials, Credentials]:
    """Have a plane's accounts in a member: of the impersonator, and of the plane itself."""
    _have_namespace(member, space, wait_s)
    accounts = (objects.IMPERSONATOR, objects.account_of(name))
    for account in accounts:
        claim(member, space, account, plane)
    _grant_all(member, name, space)
    impersonator, own = (_credentials(member, space, each, wait_s) for each in accounts)
    return impersonator, own


def _have_namespace(member: PlainClient, space: str, wait_s: int) -> None:
    """Have a namespace; one that is on its way out, as after an unjoin, is waited for."""
    wire = objects.named("v1", "Namespace", space)
    objects.make(member, objects.NAMESPACES, wire)
    stored = member.get(objects.NAMESPACES.path_of(wire))
    if not stored["metadata"].get("deletionTimestamp"):
        return
    with _changes(member, objects.NAMESPACES, stored, wait_s) as changes:
        is_gone = any(change.get("type") == "DELETED" for change in changes)
    if not is_gone:
        raise UsageError(
            f"namespace {space} of {member.endpoint.server} is being deleted, and was still there "
            f"after {wait_s} s; try again when it is gone"
        )
    objects.make(member, objects.NAMESPACES, wire)


def _grant_all(member: PlainClient, name: str, space: str) -> None:
    """Let the plane's account do everything, as it must be able to deliver anything."""
    title = objects.role_of(name)
    role = {**objects.named(objects.RBAC, "ClusterRole", title), "rules": _RULES}
    objects.put(member, objects.ROLES, role, ("rules",))
    binding = objects.account_binding(title, objects.account_of(name), space)
    objects.put(member, objects.ROLE_BINDINGS, binding, ("subjects",))


def _credentials(member: PlainClient, space: str, account: str, wait_s: int) -> Credentials:
    secret = {
        **objects.named("v1", "Secret", account, space),
        "type": "kubernetes.io/service-account-token",
    }
    secret["metadata"]["annotations"] = {_ACCOUNT: account}
    objects.make(member, objects.SECRETS, secret)
    data = filled(member, secret, wait_s)
    if data is not None:
        return Credentials(data["token"], data.get("ca.crt", ""))
    return _requested(member, space, account, wait_s)


def filled(member: PlainClient, secret: Wire, wait_s: int) -> Wire | None:
    """The content of a token Secret once the cluster has written it; None if it does not."""
    stored = member.get(objects.SECRETS.path_of(secret))
    data: Wire = stored.get("data") or {}
    if data.get("token"):
        return data
    with _changes(member, objects.SECRETS, stored, wait_s) as changes:
        for change in changes:
            data = change.get("object", {}).get("data") or {}
            if data.get("token"):
                return data
    return None


@contextmanager
def _changes(
    member: PlainClient, collection: Collection, stored: Wire, wait_s: int
) -> Iterator[Iterator[Wire]]:
    """What befalls an object from now on, for so long."""
    query = {
        "watch": "1",
        "fieldSelector": f"metadata.name={stored['metadata']['name']}",
        "resourceVersion": stored["metadata"]["resourceVersion"],
        "timeoutSeconds": str(wait_s),
    }
    place = collection.path(stored["metadata"].get("namespace", ""))
    # The server ends the watch in time; one that does not has stopped answering.
    with member.stream(place, urlencode(query), silence_s=2.0 * wait_s + 10) as lines:
        yield map(json.loads, lines)


def _requested(member: PlainClient, space: str, account: str, wait_s: int) -> Credentials:
    """A token asked for directly.

    Token Secrets are filled by kube-controller-manager, and some API servers run without it, or
    with that part of it switched off. Such a token ends some day, so the other kind comes first.
    """
    path = objects.ACCOUNTS.path(space, account, "token")
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
    return Credentials(base64.b64encode(status["token"].encode()).decode(), "", (note,))


def bundle_of(authority: str, given: bytes | None) -> str:
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


def secrets_of(
    cluster: str, space: str, granted: tuple[Credentials, Credentials], bundle: str
) -> tuple[Wire, Wire]:
    """The Secrets in the plane with what was granted: of the impersonator, and its own."""
    impersonator, own = granted
    theirs = objects.named("v1", "Secret", f"{cluster}-impersonator", space)
    ours = objects.named("v1", "Secret", cluster, space)
    return (
        {**theirs, "data": {"token": impersonator.token}},
        {**ours, "data": {"caBundle": bundle, "token": own.token}},
    )


def try_out(member: PlainClient, credentials: Credentials, bundle: str) -> None:
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
    try:
        with closing(PlainClient(endpoint)) as trial:
            trial.request("GET", "/version")
    except Unreachable as error:
        if member.endpoint.server_name is None:
            raise
        raise UsageError(
            f"{member.endpoint} is known by the tls-server-name {member.endpoint.server_name} only,"
            " for which a Cluster has no place; join it by an address that its certificate names"
        ) from error
