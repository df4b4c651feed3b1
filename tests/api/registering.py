"""Servers behind the one under test: how they are registered, and when they can be reached."""

import base64
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from backends import Backend
from behind import BehindServer

from atoll.wire import Wire

GROUP = "apiregistration.k8s.io"
SERVICES = f"/apis/{GROUP}/v1/apiservices"
TRUST = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
PATIENCE_S = 120.0


def until(found: Callable[[], Any]) -> Any:
    """What is found, once it is."""
    deadline = time.monotonic() + PATIENCE_S
    while not (answer := found()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return answer


def condition(api: Backend, name: str) -> Wire:
    conditions = api.read(f"{SERVICES}/{name}")["status"].get("conditions", [])
    found: Wire = next((one for one in conditions if one["type"] == "Available"), {})
    return found


def said(api: Backend, name: str, reason: str) -> Wire:
    """The condition of a service, once it says this."""
    found: Wire = until(lambda: (c := condition(api, name)).get("reason") == reason and c)
    return found


def service(group: str, namespace: str, name: str = "fish", **spec: Any) -> Wire:
    return {
        "metadata": {"name": f"v1.{group}"},
        "spec": {
            "group": group,
            "version": "v1",
            "groupPriorityMinimum": 1500,
            "versionPriority": 20,
            "service": {"namespace": namespace, "name": name},
            "insecureSkipTLSVerify": True,
            **spec,
        },
    }


def definition(group: str) -> Wire:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    return {
        "metadata": {"name": f"reefs.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "reefs", "kind": "Reef"},
            "versions": [version],
        },
    }


@dataclass(frozen=True)
class Fish:
    """A server behind the one under test, registered and available."""

    server: BehindServer
    group: str
    namespace: str

    @property
    def root(self) -> str:
        return f"/apis/{self.group}/v1"

    @property
    def path(self) -> str:
        return f"{self.root}/namespaces/{self.namespace}/fish"


def register_server(
    api: Backend, server: BehindServer, namespace: str, unregister: list[str]
) -> None:
    name = f"v1.{server.group}"
    spec = {"type": "ExternalName", "externalName": "localhost"}
    kept = {"metadata": {"name": "fish"}, "spec": spec}
    api.create(f"/api/v1/namespaces/{namespace}/services", kept)
    trust: dict[str, Any] = {
        "caBundle": base64.b64encode(server.ca).decode(),
        "insecureSkipTLSVerify": False,
    }
    place = {"namespace": namespace, "name": "fish", "port": server.port}
    unregister.append(name)
    api.create(SERVICES, service(server.group, namespace, service=place, **trust))
    passed = said(api, name, "Passed")
    assert (passed["status"], passed["message"]) == ("True", "all checks passed")
