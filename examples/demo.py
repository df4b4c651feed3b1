"""`make demo`: what there is today, in half a minute, in a data directory of its own.

A server is started as a user would start it; a client of ours then does what kubectl does, and
shows what kubectl would show. Nothing is left behind.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from atoll.client.https import Https
from atoll.client.kubeconfig import read_kubeconfig
from atoll.client.transport import closing
from atoll.exchange import Request, Response

Object = dict[str, Any]

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
DEPLOYMENTS = "/apis/apps/v1/namespaces/shop/deployments"
WIDGETS = "/apis/example.io/v1/namespaces/shop/islands"


def say(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def atoll(*arguments: str, data: Path) -> str:
    """Run the command line as a user would, and show it."""
    shown = " ".join(arguments)
    print(f"$ atoll {shown}", flush=True)
    command = [sys.executable, "-m", "atoll", *arguments, "--data-dir", str(data)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print((done.stderr + done.stdout).replace(str(data), "DATA").rstrip(), flush=True)
    if done.returncode:
        sys.exit(f"the demo ended early: atoll {shown} failed with code {done.returncode}")
    return done.stdout


class Client:
    """The few requests of the demo."""

    def __init__(self, data: Path) -> None:
        self._transport = Https(read_kubeconfig(data / "kubeconfig"))

    async def ask(self, method: str, path: str, body: object = None, **headers: str) -> Response:
        sent = {"content-type": "application/json", "user-agent": "demo/1"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        encoded = b"" if body is None else json.dumps(body).encode()
        path, _, query = path.partition("?")
        return await self._transport.send(Request(method, path, query, sent, encoded))

    async def show(self, method: str, path: str, body: object = None, **headers: str) -> Object:
        """Make a request and show its first line of outcome."""
        response = await self.ask(method, path, body, **headers)
        answer: Object = json.loads(response.body)
        outcome = answer.get("message") or f"{answer['kind']} {answer['metadata'].get('name', '')}"
        print(f"  {method:6} {path:62} {response.status} {outcome}".rstrip(), flush=True)
        return answer

    async def table(self, path: str) -> None:
        """Show a list as kubectl get would."""
        answer = json.loads((await self.ask("GET", path, accept=TABLE)).body)
        shown = [at for at, one in enumerate(answer["columnDefinitions"]) if not one["priority"]]
        head = [answer["columnDefinitions"][at]["name"].upper() for at in shown]
        rows = [[str(row["cells"][at]) for at in shown] for row in answer["rows"]]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        for row in (head, *rows):
            cells = (text.ljust(width) for text, width in zip(row, widths, strict=True))
            print("  " + "   ".join(cells).rstrip(), flush=True)

    async def watch(self, path: str, count: int) -> None:
        """Show the next events of a collection."""
        response = await self.ask("GET", path)
        assert response.stream is not None, response.body
        async with closing(response.stream):
            lines = b""
            async for chunk in response.stream:
                lines += chunk
                if lines.count(b"\n") >= count:
                    break
        for line in lines.splitlines():
            event = json.loads(line)
            obj = event["object"]
            said = f"replicas={obj['spec'].get('replicas')} at {obj['metadata']['resourceVersion']}"
            print(f"  {event['type']:9} {obj['metadata']['name']}   {said}", flush=True)

    async def close(self) -> None:
        await self._transport.close()


def deployment(replicas: int) -> Object:
    labels = {"app": "web"}
    container = {"name": "web", "image": "nginx:1.29", "ports": [{"containerPort": 80}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def definition() -> Object:
    size = {"type": "integer", "minimum": 1, "default": 3}
    spec = {"type": "object", "properties": {"size": size}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "islands.example.io"},
        "spec": {
            "group": "example.io",
            "scope": "Namespaced",
            "names": {"plural": "islands", "kind": "Island"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
                    "additionalPrinterColumns": [
                        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
                    ],
                }
            ],
        },
    }


def island(name: str, **spec: object) -> Object:
    return {
        "apiVersion": "example.io/v1",
        "kind": "Island",
        "metadata": {"name": name},
        "spec": spec,
    }


async def before_the_crash(data: Path) -> None:
    client = Client(data)
    say("Ordinary objects, kept as Kubernetes keeps them")
    await client.show("POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    made = await client.show("POST", DEPLOYMENTS, deployment(2))
    await client.table(DEPLOYMENTS)

    say("A change is seen by whoever watches, once, in order")
    merge = "application/merge-patch+json"
    scale = {"spec": {"replicas": 5}}
    await client.show("PATCH", f"{DEPLOYMENTS}/web/scale", scale, content_type=merge)
    since = made["metadata"]["resourceVersion"]
    await client.watch(f"{DEPLOYMENTS}?watch=true&resourceVersion={since}", 1)

    say("Server-side apply knows who owns which field")
    apply = "application/apply-patch+yaml"
    path = f"{DEPLOYMENTS}/web?fieldManager=gitops"
    await client.show("PATCH", path, deployment(9), content_type=apply)

    say("Your own kinds: defaults, rules and columns from their definition")
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await client.show("POST", definitions, definition())
    await client.show("POST", WIDGETS, island("motu"))
    await client.show("POST", WIDGETS, island("reef", size=0))
    await client.table(WIDGETS)
    await client.close()


async def after_the_crash(data: Path) -> None:
    client = Client(data)
    await client.table(DEPLOYMENTS)
    await client.table(WIDGETS)

    say("Deleting a namespace takes everything in it along")
    await client.show("DELETE", "/api/v1/namespaces/shop")
    response = await client.ask(
        "GET", "/api/v1/namespaces?fieldSelector=metadata.name%3Dshop&watch=1&timeoutSeconds=5"
    )
    assert response.stream is not None
    async with closing(response.stream):
        async for chunk in response.stream:
            if b'"DELETED"' in chunk:
                break
    await client.show("GET", f"{DEPLOYMENTS}/web")
    await client.close()


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="atoll-demo-") as directory:
        data = Path(directory) / "data"
        say("Start an embedded control plane")
        atoll("up", data=data)
        try:
            asyncio.run(before_the_crash(data))
            say("Kill it with -9, and start it again: every acknowledged write is there")
            status = json.loads(atoll("status", "-o", "json", data=data))
            os.kill(status["pid"], signal.SIGKILL)
            atoll("up", data=data)
            asyncio.run(after_the_crash(data))
        finally:
            say("Stop it")
            atoll("down", data=data)
    say("Next: .venv/bin/atoll up, then kubectl with KUBECONFIG=$(.venv/bin/atoll kubeconfig path)")


if __name__ == "__main__":
    main()
