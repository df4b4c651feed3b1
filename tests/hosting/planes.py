"""Two planes that are asked the same: one on a real host, served by a replica, and an embedded one.

On the host nobody leads, so nothing changes between two questions but what is asked for.
"""

import asyncio
import base64
import json
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from typing import Any, Protocol

import orjson
from replicas import Host, Replica, Setting, replica, wait_for

from atoll.apiserver.assembly import assemble
from atoll.apiserver.authentication import MASTERS
from atoll.apiserver.placement.kinds import plane_kinds
from atoll.client.inprocess import InProcess
from atoll.client.plain import PlainClient
from atoll.client.refusals import Missing
from atoll.client.transport import whole
from atoll.effects import system_effects
from atoll.exchange import Handler, Peer, Request
from atoll.hosting.electing import SEAT
from atoll.hosting.installation import NAMESPACE, SERVING_SECRET
from atoll.hosting.place import Place
from atoll.hosting.registering import Registration, definitions, registrations
from atoll.main import Plane, run
from atoll.store.memory import MemoryLog
from atoll.store.store import Store
from atoll.wire import Wire
from testenv.certificates import Pair

CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
LEASES = f"/apis/{SEAT.api_version}/namespaces/{SEAT.namespace}/leases"
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/{SERVING_SECRET}"
JSON = {"content-type": "application/json", "accept": "application/json"}
_DENIED = re.compile(r'^admission webhook "[^"]*\.atoll\.io" denied the request: ')
_ADMIN = Peer("admin", (MASTERS,))


class Asked(Protocol):
    """A plane that can be asked."""

    def ask(self, method: str, path: str, body: Any = None, form: str = "") -> tuple[int, Wire]:
        """The status of an answer, and what is in it."""


def _headers(form: str) -> dict[str, str]:
    written, _, accept = (form or "application/json").partition("|")
    return {
        "content-type": written or "application/json",
        "accept": accept or "application/json",
        "user-agent": "tests",
    }


class OnHost:
    """A host, by its own API server; that a webhook said no is left out of what it tells."""

    def __init__(self, client: PlainClient) -> None:
        self._client = client

    def ask(self, method: str, path: str, body: Any = None, form: str = "") -> tuple[int, Wire]:
        path, _, query = path.partition("?")
        content = b"" if body is None else orjson.dumps(body)
        answer = self._client.request(method, path, query, content, _headers(form))
        found = orjson.loads(answer.body)
        if found.get("kind") == "Status" and "message" in found:
            found["message"] = _DENIED.sub("", found["message"])
        return answer.status, found


class Embedded:
    """A plane in this process."""

    def __init__(self, runner: asyncio.Runner, handle: Handler) -> None:
        self._runner = runner
        self._transport = InProcess(handle, _ADMIN)

    def ask(self, method: str, path: str, body: Any = None, form: str = "") -> tuple[int, Wire]:
        path, _, query = path.partition("?")
        content = b"" if body is None else orjson.dumps(body)
        request = Request(method, path, query, _headers(form), content)

        async def exchange() -> tuple[int, Wire]:
            response = await whole(await self._transport.send(request))
            return response.status, orjson.loads(response.body)

        return self._runner.run(exchange())


@contextmanager
def embedded() -> Iterator[Embedded]:
    effects = system_effects()
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()

        async def begin() -> Embedded:
            store = Store.open(MemoryLog())
            server = assemble(store, effects, kinds=plane_kinds(effects))
            await run(Plane(store, server), effects, stack)
            return Embedded(runner, server.handle)

        yield runner.run(begin())
        runner.run(stack.aclose())


@contextmanager
def serving(setting: Setting) -> Iterator[tuple[Replica, str]]:
    """A replica that serves a host and does not lead, and where it serves."""
    host = setting.host
    lease = {
        "apiVersion": SEAT.api_version,
        "kind": SEAT.kind,
        "metadata": {"name": SEAT.name, "namespace": SEAT.namespace},
        "spec": {"holderIdentity": "nobody of these tests", "leaseDurationSeconds": 3600},
    }
    host.apply(f"{LEASES}/{SEAT.name}", lease)
    kubeconfig = setting.directory / "administrator"
    kubeconfig.write_bytes(host.cluster.kubeconfig.read_bytes())
    with replica(kubeconfig) as one:
        wait_for("a replica that serves", lambda: "Serving at" in one.said())
        (port,) = re.findall(r"Serving at 127\.0\.0\.1:(\d+)", one.said())
        url = f"https://127.0.0.1:{port}"
        register(host, url)
        yield one, url
    with suppress(Missing):
        host.client.delete(f"{LEASES}/{SEAT.name}")


def register(host: Host, url: str) -> None:
    """Do what whoever leads would do first."""
    bundle = base64.b64encode(authority(host).encode()).decode()
    wanted = Registration(Place(NAMESPACE, url), bundle, "somebody")
    for path, wire in (*definitions(wanted), *registrations(wanted)):
        host.apply(path, wire)
    wait_for("our API", lambda: host.client.request("GET", CLUSTERS).status == 200)


def authority(host: Host) -> str:
    return base64.b64decode(host.client.get(SECRET)["data"]["ca.crt"]).decode()


def asked(host: Host, url: str, pair: Pair | None = None, **headers: str) -> int | str:
    """What somebody who comes without a host is answered: a status, or how it ended."""
    tls = ssl.create_default_context(cadata=authority(host))
    if pair is not None:
        tls.load_cert_chain(pair.certificate, pair.key)
    said = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, headers=said)
    try:
        with urllib.request.urlopen(request, timeout=60, context=tls) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code
    except (urllib.error.URLError, ssl.SSLError, ConnectionError) as ended:
        return str(ended)


def cluster(name: str, **spec: Any) -> dict[str, Any]:
    head = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster"}
    return {**head, "metadata": {"name": name}, "spec": {"syncMode": "Push", **spec}}


def write(host: Host, method: str, path: str, wire: dict[str, Any]) -> None:
    host.client.request(method, path, "", json.dumps(wire).encode(), JSON).json()
