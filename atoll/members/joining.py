"""Joining a member cluster: what the plane needs in the member, and what it keeps of it itself.

Two clients and a description come in; afterwards both sides have what Karmada would have made, by
the same names. Whatever is there already is kept or completed, so that a join that was interrupted
is just repeated. Refused before anything is written: a name, or a cluster, that is joined already.
"""

from dataclasses import dataclass

from atoll.client.plain import PlainClient
from atoll.dialects.karmada import names
from atoll.dialects.karmada.cluster_rules import name_problems
from atoll.errors import UsageError
from atoll.members import objects
from atoll.members.granting import bundle_of, grant, secrets_of, try_out
from atoll.wire import Wire

# As long as Karmada waits for the cluster to write a token.
_TOKEN_WAIT_S = 30


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
        account, space = objects.account_of(self.name), self.namespace
        there = [
            f"Namespace {space}",
            f"ServiceAccount {space}/{objects.IMPERSONATOR}, and a Secret with its token",
            f"ServiceAccount {space}/{account}, and a Secret with its token",
            f"ClusterRole {objects.role_of(self.name)}, which may do anything, and its binding",
        ]
        here = [
            f"Namespace {space}",
            f"Secret {space}/{self.name}-impersonator",
            f"Secret {space}/{self.name}",
            f"Cluster {self.name}",
        ]
        return there, here


def check(plane: PlainClient, member: PlainClient, description: Description) -> Wire | None:
    """The Cluster that this very cluster has already by this name; UsageError if it may not join.

    Nothing is written.
    """
    name = description.name
    problems = name_problems(name)
    if problems:
        raise UsageError(f'a cluster cannot be called "{name}": {"; ".join(problems)}')
    with objects.speaking_to(member):
        own, known = objects.identity(member), None
    if own == objects.plane_identity(plane):
        raise UsageError(f"{member.endpoint} is the plane itself, and cannot be its own member")
    for cluster in objects.clusters_of(plane):
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
    is_at = spec.get("apiEndpoint", "").rstrip("/") == member.endpoint.server
    if not (spec["id"] == own if spec.get("id") else is_at):
        raise UsageError(f'another cluster has joined as "{name}" already; choose another name')


def join(
    plane: PlainClient,
    member: PlainClient,
    description: Description,
    token_wait_s: int = _TOKEN_WAIT_S,
) -> list[str]:
    """Join a cluster, or complete what an earlier join began; gives what the user should know."""
    known = check(plane, member, description)
    with objects.speaking_to(member):
        name, space = description.name, description.namespace
        granted = grant(member, name, space, objects.plane_identity(plane), token_wait_s)
        spec = _spec(member, description)
    impersonator, own = granted
    bundle = bundle_of(own.authority, member.endpoint.ca)
    try_out(member, own, bundle)
    with objects.speaking_to(plane):
        objects.make(plane, objects.NAMESPACES, objects.named("v1", "Namespace", space))
        secrets = secrets_of(name, space, granted, bundle)
        for secret in secrets:
            objects.put(plane, objects.SECRETS, secret, ("data",))
        if known is None:
            said = {key: value for key, value in spec.items() if value is not None}
            known = plane.create(objects.CLUSTERS, objects.cluster_of(name, said))
        else:
            known = plane.patch(objects.CLUSTERS.path(name=name), {"spec": spec})
        objects.own_secrets(plane, known, secrets)
    return [*impersonator.notes, *own.notes]


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
        "id": objects.identity(member),
        "apiEndpoint": endpoint.server,
        "secretRef": {"namespace": space, "name": description.name},
        "impersonatorSecretRef": {"namespace": space, "name": f"{description.name}-impersonator"},
        "insecureSkipTLSVerification": endpoint.skip_verification or None,
        **{key: value for key, value in told.items() if value},
    }
