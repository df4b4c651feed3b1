"""A plane on another API server than that of the cluster in which its replicas run.

Two clients come in: of the host, where pods run, and of the plane. Refused before anything is
written: one server named twice, one that is taken, and a change from one plane to another, which
would leave the first asking for replicas that no longer know it. The replicas are let in by a token
of an account on the plane, with exactly the rights that they use, never as whoever installs.
"""

import base64
from collections.abc import Mapping
from typing import Any

from atoll.client.endpoint import Endpoint
from atoll.client.kubeconfig import kubeconfig_text
from atoll.client.plain import PlainClient
from atoll.errors import UsageError
from atoll.hosting.deploying import check_host, check_room, check_version
from atoll.hosting.installation import (
    METRICS,
    NAME,
    ON_PLANE,
    PLANE_SECRET,
    TOKEN_SECRET,
    Installation,
    Plane,
)
from atoll.members.agent_home import DEPLOYMENTS
from atoll.members.granting import filled
from atoll.members.objects import ROLE_BINDINGS, SECRETS, identity, speaking_to

_TOKEN_WAIT_S = 60
_FIRST = "take them off first with: atoll uninstall"


def check(host: PlainClient, plane: PlainClient | None, namespace: str) -> None:
    """UsageError if replicas on a host cannot serve this plane, or serve another.

    Without a plane elsewhere, the host is meant to be it.
    """
    with speaking_to(host):
        if plane is None:
            check_room(host, namespace)
        check_host(host, namespace)
        way, token = (
            host.find(SECRETS.path(namespace, name)) for name in (PLANE_SECRET, TOKEN_SECRET)
        )
    if plane is not None:
        _check_plane(host, plane, namespace, _annotations(way).get(ON_PLANE))
    elif way is not None:
        raise UsageError(
            f"the replicas in namespace {namespace} serve a plane elsewhere; name it with"
            f" --plane-kubeconfig, or delete secret/{PLANE_SECRET} there if it is gone for good"
        )
    elif token is not None:
        raise UsageError(
            f"{host.endpoint} is the plane of replicas that run elsewhere; name it with"
            f" --plane-kubeconfig, and their cluster with --kubeconfig"
        )


def _check_plane(host: PlainClient, plane: PlainClient, namespace: str, known: str | None) -> None:
    with speaking_to(plane):
        check_version(plane, "which needs no replicas elsewhere; name a server of Kubernetes")
        uid = identity(plane)
        check_room(plane, namespace)
        replicas = plane.find(DEPLOYMENTS.path(namespace, NAME))
    with speaking_to(host):
        if identity(host) == uid:
            raise UsageError(
                f"{plane.endpoint} is the host itself, which needs no second kubeconfig;"
                " leave out --plane-kubeconfig"
            )
        rights = host.find(ROLE_BINDINGS.path(name=NAME)) or {}
    if replicas is not None:
        raise UsageError(f"{plane.endpoint} has replicas of its own in {namespace}; {_FIRST}")
    if any(each.get("namespace") == namespace for each in rights.get("subjects") or ()):
        raise UsageError(
            f"{host.endpoint} is itself the plane of its replicas in {namespace};"
            f" leave out --plane-kubeconfig, or {_FIRST}"
        )
    if known not in (None, uid):
        raise UsageError(
            f"the replicas in namespace {namespace} serve another plane than {plane.endpoint};"
            f" name that one, or {_FIRST}"
        )


def _annotations(wire: Mapping[str, Any] | None) -> Mapping[str, str]:
    return (wire["metadata"].get("annotations") or {}) if wire else {}


def way_to(plane: PlainClient, wanted: Installation, url: str, *, is_trial: bool) -> Plane:
    """How replicas and a monitor reach a plane that has accounts for them.

    In a trial there may be none yet: then the tokens are no good.
    """

    def token(name: str) -> str:
        secret = {"metadata": {"namespace": wanted.namespace, "name": name}}
        if is_trial:
            data = (plane.find(SECRETS.path_of(secret)) or {}).get("data") or {"token": ""}
        else:
            data = filled(plane, secret, _TOKEN_WAIT_S)
        if data is None:
            raise UsageError(
                f"{plane.endpoint} puts no token into secret/{name} in {wanted.namespace};"
                " its controller manager must run serviceaccount-token"
            )
        return base64.b64decode(data["token"]).decode()

    there = plane.endpoint
    # How whoever installs goes there, by a proxy and as whom, is not how a pod does.
    way = Endpoint(
        there.server,
        there.ca,
        token=token(TOKEN_SECRET),
        server_name=there.server_name,
        skip_verification=there.skip_verification,
    )
    numbers = token(METRICS) if wanted.with_service_monitor else ""
    return Plane(url, kubeconfig_text("plane", NAME, "plane", way), numbers, identity(plane))
