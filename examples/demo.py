"""`make demo`: the main job from end to end, in half a minute, in a data directory of its own.

A control plane with five simulated clusters is started as a user would start it; a client of ours
then does what kubectl does, and shows what kubectl would show. Nothing is left behind.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Any

from atoll.client.https import Https
from atoll.client.kubeconfig import read_kubeconfig
from atoll.exchange import Request

Object = dict[str, Any]

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
SPACE = "namespaces/shop"
DEPLOYMENTS = f"/apis/apps/v1/{SPACE}/deployments"
POLICIES = f"/apis/policy.karmada.io/v1alpha1/{SPACE}/propagationpolicies"
BINDINGS = f"/apis/work.karmada.io/v1alpha2/{SPACE}/resourcebindings"
EXPLANATIONS = f"/apis/placement.atoll.io/v1alpha1/{SPACE}/explanations"
WITHIN_S = 60.0


def say(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def show(text: str) -> None:
    print(f"  {text}".rstrip(), flush=True)


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
    """The few requests of the demo, to one API server."""

    def __init__(self, kubeconfig: Path) -> None:
        self._transport = Https(read_kubeconfig(kubeconfig))

    async def ask(self, method: str, path: str, body: object = None, **headers: str) -> Object:
        sent = {"content-type": "application/json", "user-agent": "demo/1"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        encoded = b"" if body is None else json.dumps(body).encode()
        response = await self._transport.send(Request(method, path, "", sent, encoded))
        answer: Object = json.loads(response.body)
        return answer

    async def do(self, method: str, path: str, body: object, **headers: str) -> None:
        """Make a change and show its outcome."""
        answer = await self.ask(method, path, body, **headers)
        show(answer.get("message") or f"{method:6} {path.partition('/namespaces/')[2] or path}")

    async def table(self, path: str, *chosen: str) -> None:
        """Show a list as kubectl get would, or these columns of it."""
        answer = await self.ask("GET", path, accept=TABLE)
        columns = answer["columnDefinitions"]
        shown = [
            at
            for at, one in enumerate(columns)
            if (one["name"] in chosen if chosen else not one["priority"])
        ]
        head = [columns[at]["name"].upper() for at in shown]
        rows = [[str(row["cells"][at]) for at in shown] for row in answer["rows"]]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        for row in (head, *rows):
            show("   ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)))

    async def aclose(self) -> None:
        await self._transport.close()


class Fleet:
    """The plane and its members, each through its own endpoint."""

    def __init__(self, data: Path) -> None:
        self.plane = Client(data / "kubeconfig")
        kubeconfigs = sorted((data / "members").glob("*/kubeconfig"))
        self.members = {path.parent.name: Client(path) for path in kubeconfigs}

    async def aclose(self) -> None:
        for client in (self.plane, *self.members.values()):
            await client.aclose()

    async def ready(self) -> bool:
        items = (await self.plane.ask("GET", CLUSTERS))["items"]
        conditions = [each.get("status", {}).get("conditions") or [{}] for each in items]
        ready = [each for each in conditions if each[0].get("status") == "True"]
        return len(ready) == len(self.members)

    async def placement(self) -> dict[str, int]:
        """What was decided: replicas by cluster."""
        binding = await self.plane.ask("GET", f"{BINDINGS}/web-deployment")
        clusters = binding.get("spec", {}).get("clusters") or []
        return {each["name"]: each.get("replicas", 0) for each in clusters}

    async def reasons(self) -> list[str]:
        """Why it is there and not elsewhere, in the words of the last decision."""
        told = await self.plane.ask("GET", f"{EXPLANATIONS}/web-deployment")
        return [str(each) for each in (told.get("decisions") or [{}])[0].get("sentences") or ()]

    async def reality(self) -> dict[str, int]:
        """What the members themselves say: ready replicas by cluster."""
        found = {}
        for name, client in self.members.items():
            answer = await client.ask("GET", f"{DEPLOYMENTS}/web")
            if answer["kind"] == "Deployment":
                found[name] = int(answer.get("status", {}).get("readyReplicas", 0))
        return found

    async def settled(self, replicas: int, among: Sequence[str] = ()) -> bool:
        """Whether members have what was decided, and the template says the sum."""
        template = await self.plane.ask("GET", f"{DEPLOYMENTS}/web")
        told = template.get("status", {}).get("readyReplicas", 0)
        decided = {name: count for name, count in (await self.placement()).items() if count}
        if among and not decided.keys() <= set(among):
            return False
        return told == replicas == sum(decided.values()) and await self.reality() == decided

    async def show(self) -> None:
        decided, there = await self.placement(), await self.reality()
        show("decided      " + " · ".join(f"{name} {count}" for name, count in decided.items()))
        show("in members   " + " · ".join(f"{name} {count}" for name, count in there.items()))
        await self.plane.table(DEPLOYMENTS)


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait for it, and show how long it took."""
    started = time.monotonic()
    try:
        async with asyncio.timeout(WITHIN_S):
            while not await holds():
                await asyncio.sleep(0.05)
    except TimeoutError:
        sys.exit(f"the demo ended early: it did not settle within {WITHIN_S:g} s")
    show(f"done in {time.monotonic() - started:.1f} s")


def deployment(replicas: int) -> Object:
    labels = {"app": "web"}
    requests = {"cpu": "2", "memory": "4Gi"}
    container = {"name": "web", "image": "nginx:1.29", "resources": {"requests": requests}}
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


def policy() -> Object:
    """At least two regions, at most three clusters, divided by what is free."""
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "web"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}],
            "placement": {
                "spreadConstraints": [
                    {"spreadByField": "region", "minGroups": 2, "maxGroups": 3},
                    {"spreadByField": "cluster", "minGroups": 2, "maxGroups": 3},
                ],
                "replicaScheduling": {
                    "replicaSchedulingType": "Divided",
                    "replicaDivisionPreference": "Weighted",
                    "weightPreference": {"dynamicWeight": "AvailableReplicas"},
                },
            },
        },
    }


async def story(fleet: Fleet) -> None:
    plane, merge = fleet.plane, "application/merge-patch+json"
    say("Five clusters: two data centres, of which one is nearly full, and three clouds")
    await until(fleet.ready)
    await plane.table(CLUSTERS, "Name", "Region", "Provider", "Ready")

    say("An ordinary Deployment, and a policy: two regions or more, divided by what is free")
    await plane.do("POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    await plane.do("POST", DEPLOYMENTS, deployment(12))
    await plane.do("POST", POLICIES, policy())
    await until(lambda: fleet.settled(12))
    await fleet.show()

    say("Why there, and not elsewhere? (kubectl get why, for short)")

    async def explained() -> bool:
        return bool(await fleet.reasons())

    await until(explained)
    for reason in await fleet.reasons():
        show(reason)

    say("Scale it, as always")
    await plane.do(
        *("PATCH", f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 20}}), content_type=merge
    )
    await until(lambda: fleet.settled(20))
    await fleet.show()

    say("Another policy, and it moves: it is sent to its new clusters before it leaves the old")
    clouds = {"key": "provider", "operator": "NotIn", "values": ["onprem"]}
    affinity = {"fieldSelector": {"matchExpressions": [clouds]}}
    change = {"spec": {"placement": {"clusterAffinity": affinity}}}
    await plane.do("PATCH", f"{POLICIES}/web", change, content_type=merge)
    await until(lambda: fleet.settled(20, among=("ali-hz", "aws-use1")))
    await fleet.show()


async def after_the_crash(fleet: Fleet) -> None:
    await until(lambda: fleet.settled(20))
    await fleet.show()

    say("Deleted in the plane, gone everywhere")
    await fleet.plane.do("DELETE", f"{DEPLOYMENTS}/web", {})

    async def gone() -> bool:
        return not await fleet.reality()

    await until(gone)
    show("in members   nothing")


def run(data: Path, part: Callable[[Fleet], Awaitable[None]]) -> None:
    async def main() -> None:
        async with AsyncExitStack() as stack:
            await part(await stack.enter_async_context(aclosing(Fleet(data))))

    asyncio.run(main())


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="atoll-demo-") as directory:
        data = Path(directory) / "data"
        try:
            say("Start a control plane with simulated member clusters, in one process")
            atoll("up", "--fleet", "hybrid", data=data)
            run(data, story)
            say("Kill it with -9, and start it again: everything is where it was")
            atoll("status", data=data)
            os.kill(json.loads((data / "server.json").read_text())["pid"], signal.SIGKILL)
            atoll("up", data=data)
            run(data, after_the_crash)
            say("Stop it")
            atoll("down", data=data)
        finally:
            # Also when the terminal went away in the middle: nothing is left behind.
            command = [sys.executable, "-m", "atoll", "down", "--force", "--data-dir", str(data)]
            subprocess.run(command, capture_output=True, check=False)
    say("Next: .venv/bin/atoll up --fleet hybrid, then kubectl with the KUBECONFIG that it names")


if __name__ == "__main__":
    main()
