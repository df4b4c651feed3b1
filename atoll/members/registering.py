"""Registering a cluster whose agent comes to the plane by itself.

An invitation, a client for the cluster and a description come in; afterwards the plane lets exactly
this agent in, and the cluster has what the agent needs. The plane is asked by a certificate that is
good for minutes and may give rights to agents, as Karmada's tools do it. Whatever is there already
is renewed, so that registering that was interrupted is just repeated.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace

from atoll.client.endpoint import Endpoint
from atoll.client.plain import PlainClient
from atoll.client.refusals import Refused
from atoll.client.transport import Unreachable
from atoll.dialects.karmada import names
from atoll.dialects.karmada.cluster_rules import name_problems
from atoll.errors import UsageError
from atoll.members import objects
from atoll.members.agent_home import Housing, agent_kubeconfig, check_home, described_home, settle
from atoll.members.agent_rights import agent_user, described, rights, spaces
from atoll.members.certifying import NAME_MAX, ask_for, certify
from atoll.members.patience import Pause
from atoll.members.trusting import Invitation, find_plane
from atoll.wire import Wire

GENERATOR = "rbac-generator"
YEAR_S = 365 * 24 * 3600
_MINUTES_S = 600  # the shortest that Kubernetes lets anybody ask for


@dataclass(frozen=True, slots=True)
class Registration:
    """Which cluster registers by which name, and what it is to have then."""

    name: str
    housing: Housing
    namespace: str = names.CLUSTER_NAMESPACE
    """In the plane, for the Secrets that the agent reports."""
    valid_s: int = YEAR_S
    """How long the agent's certificate is good for."""

    def objects(self) -> tuple[list[str], list[str]]:
        """What is made in the cluster, and in the plane."""
        return described_home(self.housing), described(self.name, self.namespace)


def check(
    invitation: Invitation, member: PlainClient, registration: Registration, pause: Pause
) -> Endpoint:
    """The plane, which can be trusted; UsageError if the cluster may not register.

    Nothing is written.
    """
    name = registration.name
    problems = name_problems(name)
    if not problems and len(name) > NAME_MAX:
        problems = [f"must be no more than {NAME_MAX} characters for a cluster with an agent"]
    if name == GENERATOR:
        problems = ["Karmada uses this name itself"]
    if problems:
        raise UsageError(f'a cluster cannot be called "{name}": {"; ".join(problems)}')
    with objects.speaking_to(member):
        objects.identity(member)
    plane = find_plane(invitation, pause)
    with objects.speaking_to(member):
        check_home(member, name, registration.housing.space, plane.ca)
    return plane


def register(
    invitation: Invitation, member: PlainClient, registration: Registration, pause: Pause
) -> str:
    """Register a cluster, or complete what was begun; gives the agent's kubeconfig."""
    plane, name = check(invitation, member, registration, pause), registration.name
    with closing(PlainClient(replace(plane, token=invitation.token))) as newcomer:
        _grant(newcomer, member, registration, pause)
        with _believing(newcomer):
            asked = ask_for(agent_user(name), name, registration.valid_s)
            certificate = certify(newcomer, asked, pause)
    kubeconfig = agent_kubeconfig(name, replace(plane, certificate=certificate, key=asked.key))
    with objects.speaking_to(member):
        settle(member, name, registration.housing, kubeconfig)
    return kubeconfig


def _grant(
    newcomer: PlainClient, member: PlainClient, registration: Registration, pause: Pause
) -> None:
    """Let the agent of this cluster in, by a right that is given up at once."""
    name, space = registration.name, registration.namespace
    with _believing(newcomer):
        asked = ask_for(agent_user(GENERATOR), f"agent-rbac-generator-{name}", _MINUTES_S)
        certificate = certify(newcomer, asked, pause)
    generator = PlainClient(
        replace(newcomer.endpoint, token=None, certificate=certificate, key=asked.key)
    )
    try:
        with objects.speaking_to(generator):
            _may_register(generator, member, name)
            for wire in spaces(name, space):
                objects.make(generator, objects.NAMESPACES, wire)
            for collection, wire, part in rights(name, space):
                objects.put(generator, collection, wire, (part,))
    finally:
        with suppress(Refused, Unreachable):
            generator.delete(asked.path)
        generator.close()


def _may_register(plane: PlainClient, member: PlainClient, name: str) -> None:
    own = objects.identity(member)
    if own == objects.plane_identity(plane):
        raise UsageError(f"{member.endpoint} is the plane itself, and cannot be its own member")
    for cluster in objects.clusters_of(plane):
        check_known(cluster, name, own)


def check_known(cluster: Wire, name: str, own: str) -> None:
    """UsageError if a Cluster of the plane keeps the cluster of this id from having this name."""
    taken, spec = cluster["metadata"]["name"], cluster.get("spec") or {}
    is_it = spec.get("id") == own
    leave = "unregister" if spec.get("syncMode") == "Pull" else "unjoin"
    if is_it and taken != name:
        raise UsageError(
            f'this cluster is in the plane as "{taken}" already; '
            f"use that name, or first: atoll {leave} {taken}"
        )
    if taken != name:
        return
    if cluster["metadata"].get("deletionTimestamp"):
        raise UsageError(f'cluster "{name}" is on its way out of the plane; wait until it is gone')
    if not is_it and spec.get("id"):
        raise UsageError(f'another cluster is in the plane as "{name}"; choose another name')
    if leave == "unjoin":
        raise UsageError(
            f'cluster "{name}" has joined, and the plane speaks to it; first: atoll unjoin {name}'
        )


@contextmanager
def _believing(newcomer: PlainClient) -> Iterator[None]:
    """Say what to do where the plane does not take a token that it signed with."""
    try:
        yield
    except Refused as error:
        if error.code not in (401, 403):
            raise
        raise UsageError(
            f"{newcomer.endpoint.server} does not let this token ask for certificates: {error}; "
            "make another one in the plane with: atoll token create --print-register-command"
        ) from error
