"""What the controllers of a simulated cluster decide: objects to make, to change and to end.

Plans are lists of these; `hand` carries them out. A change is by parts, so that what others wrote
into the object meanwhile stays.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from atoll.simulated.plans.census import Pod
from atoll.simulated.plans.moulds import Mould
from atoll.wire import Wire

PODS = "pods"
Key = tuple[str, str]  # a collection, and a name in it


@dataclass(frozen=True, slots=True)
class Make:
    """Create this object, whole but for what the server stamps. One that is there is left alone."""

    collection: str
    object: Wire
    mould: Mould | None = None  # of a pod


@dataclass(frozen=True, slots=True)
class Change:
    """Put these parts into this very object: its status, and single keys of what else is named.

    `owned` is the reference of an owner it gets, `disowned` the uid of one it has no more. With a
    `generation`, only if the object still asks for what this is the answer to.
    """

    key: Key
    uid: str
    parts: Mapping[str, Any]
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class End:
    """Delete this very object; `at_once`: without the time it would have."""

    key: Key
    uid: str
    at_once: bool = False


Step = Make | Change | End


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps to take now; and in how many seconds to look again, although nothing has happened."""

    steps: list[Step] = field(default_factory=list)
    again_s: float | None = None


def key_of(collection: str, obj: Wire) -> Key:
    """Where an object is kept."""
    meta = obj["metadata"]
    name, namespace = meta["name"], meta.get("namespace")
    return (collection, f"{namespace}/{name}" if namespace else name)


def end_of(collection: str, obj: Wire) -> End:
    """The step that deletes an object."""
    return End(key_of(collection, obj), obj["metadata"]["uid"])


def ends_of(pods: Iterable[Pod]) -> list[Step]:
    """The steps that delete pods."""
    return [End((PODS, pod.key), pod.uid) for pod in pods]


def owner(obj: Wire) -> Wire:
    """An owner reference of the controller of something."""
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": obj["metadata"]["name"],
        "uid": obj["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def status_change(collection: str, obj: Wire, fresh: Wire, **parts: Wire) -> list[Step]:
    """The step that writes a status, and other parts along with it, where they say anything new."""
    news = {name: part for name, part in parts.items() if not _has(obj, name, part)}
    if fresh != (obj.get("status") or {}):
        news["status"] = fresh
    if not news:
        return []
    meta = obj["metadata"]
    return [Change(key_of(collection, obj), meta["uid"], news, meta.get("generation"))]


def _has(obj: Wire, name: str, part: Wire) -> bool:
    there = (obj["metadata"] if name == "annotations" else obj).get(name) or {}
    return all(there.get(key) == value for key, value in part.items())


EVENTS = "events"


def failed_create(pod: Wire, why: str, now: str) -> Make:
    """That a pod could not be made, told of whoever wants it; once, while that is remembered."""
    meta = pod["metadata"]
    owner = next(iter(meta.get("ownerReferences") or ()), {"kind": "Pod", "name": meta["name"]})
    component = f"{owner['kind'].lower()}-controller"
    about = {key: owner[key] for key in ("apiVersion", "kind", "name", "uid") if key in owner}
    name = f"{owner['name']}.{owner.get('uid', '')[:13]}".rstrip(".")
    about["namespace"] = meta["namespace"]
    told = ("FailedCreate", f"Error creating: {why}", component)
    return _warning(name, about, told, now)


def failed_scheduling(pod: Wire, why: str, now: str) -> Make:
    """That no node takes a pod."""
    meta = pod["metadata"]
    named = {"name": meta["name"], "namespace": meta["namespace"], "uid": meta.get("uid", "")}
    about = {"apiVersion": "v1", "kind": "Pod", **named}
    name = f"{meta['name']}.{named['uid'][:8]}"
    return _warning(name, about, ("FailedScheduling", why, "default-scheduler"), now)


def _warning(name: str, about: Wire, told: tuple[str, str, str], now: str) -> Make:
    reason, message, component = told
    return Make(
        EVENTS,
        {
            "metadata": {"name": name, "namespace": about["namespace"]},
            "involvedObject": about,
            "reason": reason,
            "message": message,
            "source": {"component": component},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": "Warning",
            "eventTime": None,
            "reportingComponent": component,
            "reportingInstance": "",
        },
    )
