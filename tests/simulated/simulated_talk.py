"""How these tests talk to a member: JSON in and out through its transport, as any client would."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from atoll.client.transport import whole
from atoll.exchange import Request
from atoll.simulated.member import Member
from atoll.wire import Wire

JSON = {"content-type": "application/json", "accept": "application/json"}
MERGE = {**JSON, "content-type": "application/merge-patch+json"}
APPS = "/apis/apps/v1/namespaces/default/"
BATCH = "/apis/batch/v1/namespaces/default/"
CORE = "/api/v1/namespaces/default/"
LABELS = {"app": "nginx"}


async def ask(member: Member, method: str, path: str, body: Wire | None = None) -> Any:
    """Send a request that must succeed; give what it answers."""
    sent = b"" if body is None else json.dumps(body).encode()
    headers = MERGE if method == "PATCH" else JSON
    answer = await whole(await member.transport.send(Request(method, path, "", headers, sent)))
    assert answer.status in (200, 201), answer.body
    return json.loads(answer.body)


async def settled(member: Member, path: str, done: Callable[[Wire], bool]) -> Wire:
    """The object's status once it is as wanted; it has two minutes of the loop's time."""
    async with asyncio.timeout(120):
        while not done(found := (await ask(member, "GET", path)).get("status") or {}):
            await asyncio.sleep(0.001)
    return found


def template(cpu: str = "100m", image: str = "nginx:1", **spec: Any) -> Wire:
    requests = {"cpu": cpu, "memory": "64Mi"}
    container = {"name": "web", "image": image, "resources": {"requests": requests}}
    return {"metadata": {"labels": LABELS}, "spec": {"containers": [container], **spec}}


def workload(name: str, cpu: str = "100m", **spec: Any) -> Wire:
    """A workload of whatever kind it is posted as."""
    selector = {"selector": {"matchLabels": LABELS}}
    return {"metadata": {"name": name}, "spec": {"template": template(cpu), **selector, **spec}}


def job(name: str, **spec: Any) -> Wire:
    return {
        "metadata": {"name": name},
        "spec": {"template": template(restartPolicy="Never"), **spec},
    }
