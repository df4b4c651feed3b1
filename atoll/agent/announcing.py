"""An agent tells the plane of its cluster: what it is, where it is, and how others may reach it.

Two clients and a description come in; afterwards the plane has a Cluster that pulls, and the
Secrets that are to be reported. The name of another cluster is never taken, and what somebody
changed in the plane stays where the agent may not write.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from atoll.client.plain import PlainClient
from atoll.client.refusals import Refused
from atoll.dialects.karmada import names
from atoll.members import objects
from atoll.members.granting import bundle_of, grant, secrets_of
from atoll.members.registering import check_known
from atoll.wire import Wire

CREDENTIALS, IMPERSONATOR = "KubeCredentials", "KubeImpersonator"
REPORTED = (CREDENTIALS, IMPERSONATOR)
_TOKEN_WAIT_S = 30


@dataclass(frozen=True, slots=True)
class Announcement:
    """What an agent says of its cluster; `endpoint` is where others would reach it."""

    name: str
    endpoint: str = ""
    provider: str = ""
    region: str = ""
    zones: tuple[str, ...] = ()
    proxy: str = ""
    reported: frozenset[str] = frozenset(REPORTED)
    namespace: str = names.CLUSTER_NAMESPACE


def announce(plane: PlainClient, member: PlainClient, told: Announcement) -> list[str]:
    """Have the Cluster in the plane; gives what stays otherwise than told, in lines for the user.

    UsageError if the name is another cluster's, or this one has another name.
    """
    with objects.speaking_to(member):
        own = objects.identity(member)
    with objects.speaking_to(plane):
        clusters = objects.clusters_of(plane)
        for cluster in clusters:
            check_known(cluster, told.name, own)
        secrets = _report(plane, member, told) if told.reported else []
        spec = {key: value for key, value in _spec(member, told, own).items() if value}
        known = next((each for each in clusters if each["metadata"]["name"] == told.name), None)
        if known is None:
            known = plane.create(objects.CLUSTERS, objects.cluster_of(told.name, spec))
        notes = list(_differences(plane, known, spec))
        objects.own_secrets(plane, known, secrets)
    return notes


def _spec(member: PlainClient, told: Announcement, own: str) -> Wire:
    def named_by(what: str, name: str) -> Wire | None:
        return {"namespace": told.namespace, "name": name} if what in told.reported else None

    return {
        "syncMode": "Pull",
        "id": own,
        "apiEndpoint": told.endpoint or member.endpoint.server,
        "provider": told.provider,
        "region": told.region,
        "zones": list(told.zones),
        "proxyURL": told.proxy,
        "insecureSkipTLSVerification": member.endpoint.skip_verification,
        "secretRef": named_by(CREDENTIALS, told.name),
        "impersonatorSecretRef": named_by(IMPERSONATOR, f"{told.name}-impersonator"),
    }


def _report(plane: PlainClient, member: PlainClient, told: Announcement) -> list[Wire]:
    """Have the Secrets in the plane by which others may speak to the cluster."""
    with objects.speaking_to(member):
        known_as = objects.plane_identity(plane)
        granted = grant(member, told.name, told.namespace, known_as, _TOKEN_WAIT_S)
    bundle = bundle_of(granted[1].authority, member.endpoint.ca)
    theirs, ours = secrets_of(told.name, told.namespace, granted, bundle)
    found = {CREDENTIALS: ours, IMPERSONATOR: theirs}
    secrets = [found[what] for what in REPORTED if what in told.reported]
    for secret in secrets:
        objects.put(plane, objects.SECRETS, secret, ("data",))
    return secrets


def _differences(plane: PlainClient, known: Wire, spec: Wire) -> Iterator[str]:
    """Say it anew where the plane has it otherwise; an agent may not always do that."""
    there = known.get("spec") or {}
    changed = {key: value for key, value in spec.items() if there.get(key) != value}
    if not changed:
        return
    try:
        plane.patch(objects.CLUSTERS.path_of(known), {"spec": changed})
    except Refused as error:
        if error.code != 403:
            raise
        kept = ", ".join(f"spec.{key} is not {value!r}" for key, value in changed.items())
        yield f"In the plane {kept}, and only its administrator may change that"
