"""What a simulated pod has to say: lines that tell what happened to it, as its log.

A request for a pod's log comes in, text goes out, as a whole or for as long as there may be more.
The lines follow from the pod as it is stored, so they are the same whenever they are read.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from atoll.apiserver.objects.times import rfc3339
from atoll.apiserver.options import Query, first, flag, parse_query
from atoll.apiserver.resource import Errand
from atoll.apiserver.status import bad_request, not_found
from atoll.effects import Effects
from atoll.errors import Gone
from atoll.exchange import Response
from atoll.simulated.hand import stored
from atoll.store.store import Store
from atoll.wire import Wire

Line = tuple[str, str]  # when, and what

PODS = "pods"
_PLAIN = {"content-type": "text/plain"}


@dataclass(frozen=True, slots=True)
class PodLogs:
    """Answers requests for the logs of the pods in a store."""

    store: Store
    effects: Effects

    async def serve(self, errand: Errand) -> Response:
        """The log of one container; ApiError if there is none, or none yet."""
        query = parse_query(errand.request.query)
        key = f"{errand.namespace}/{errand.name}"
        pod = stored(self.store, PODS, key)
        if pod is None:
            raise not_found(PODS, "", errand.name)
        container = _container(pod, first(query, "container"))
        _check_started(pod, container, previous=flag(query, "previous"))
        wanted = _Wanted(container, _number(query, "tailLines"), self._since(query), query)
        if flag(query, "follow"):
            return Response(200, _PLAIN, stream=self._followed(key, pod, wanted))
        told = b"".join(wanted.text(lines(pod, container)))
        limit = _number(query, "limitBytes")
        return Response(200, _PLAIN, told if limit is None else told[:limit])

    def _since(self, query: Query) -> str:
        seconds = _number(query, "sinceSeconds")
        if seconds is not None:
            return rfc3339(self.effects.now() - timedelta(seconds=seconds))
        return first(query, "sinceTime") or ""

    async def _followed(self, key: str, pod: Wire, wanted: "_Wanted") -> AsyncIterator[bytes]:
        """Lines as they come, until the pod has ended or is gone."""
        uid = pod["metadata"]["uid"]
        told: set[Line] = set()
        found: Wire | None = pod
        watch = self.store.watch(PODS, self.store.revision)
        while found is not None and found["metadata"]["uid"] == uid:
            known = lines(found, wanted.container)
            fresh = [line for line in known if line not in told]
            chunk = wanted.plain(fresh) if told else wanted.text(known)
            told.update(known)
            if chunk:
                yield b"".join(chunk)
            if (found.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
                return
            try:
                await watch.wait()
                watch.take(1000)
            except Gone:
                watch = self.store.watch(PODS, self.store.revision)
            found = stored(self.store, PODS, key)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which lines, and how they are written."""

    container: str
    tail: int | None
    since: str
    query: Query

    def text(self, known: list[Line]) -> list[bytes]:
        recent = [line for line in known if line[0] >= self.since]
        return self.plain(recent if self.tail is None else recent[len(recent) - self.tail :])

    def plain(self, known: list[Line]) -> list[bytes]:
        stamps = flag(self.query, "timestamps")
        return [
            f"{when} {what}\n".encode() if stamps else f"{what}\n".encode() for when, what in known
        ]


def lines(pod: Mapping[str, Any], container: str) -> list[Line]:
    """What happened to one container of a pod, the oldest first."""
    meta, status = pod["metadata"], pod.get("status") or {}
    node = pod["spec"].get("nodeName", "")
    told = _status(status.get("containerStatuses") or (), container)
    state, image = told.get("state") or {}, told.get("image", "")
    began = str(status.get("startTime", ""))
    found: list[Line] = [(began, f"{container}: {image} starts on {node} in pod {meta['name']}")]
    last = (told.get("lastState") or {}).get("terminated")
    if last:
        ended = f"{container}: ends with exit code {last['exitCode']}"
        found.append((last["finishedAt"], f"{ended}, started again {told['restartCount']} times"))
    ran = state.get("running") or state.get("terminated")
    if ran:
        found.append((ran["startedAt"], f"{container}: runs at {status['podIP']}"))
    if told.get("ready"):
        ready = next(one for one in status["conditions"] if one["type"] == "Ready")
        found.append((ready["lastTransitionTime"], f"{container}: is ready"))
    if "terminated" in state:
        done = state["terminated"]
        found.append((done["finishedAt"], f"{container}: ends with exit code {done['exitCode']}"))
    if meta.get("deletionTimestamp"):
        found.append((meta["deletionTimestamp"], f"{container}: is asked to end"))
    return found


def _container(pod: Mapping[str, Any], asked: str | None) -> str:
    spec, name = pod["spec"], pod["metadata"]["name"]
    kinds = ("containers", "initContainers")
    known = [str(one["name"]) for kind in kinds for one in spec.get(kind) or ()]
    if asked:
        if asked not in known:
            raise bad_request(f"container {asked} is not valid for pod {name}")
        return asked
    if len(spec.get("containers") or ()) > 1:
        listed = " ".join(known)
        why = f"a container name must be specified for pod {name}, choose one of: [{listed}]"
        raise bad_request(why)
    return known[0]


def _check_started(pod: Mapping[str, Any], container: str, *, previous: bool) -> None:
    name, status = pod["metadata"]["name"], pod.get("status") or {}
    statuses = [
        *(status.get("containerStatuses") or ()),
        *(status.get("initContainerStatuses") or ()),
    ]
    told = _status(statuses, container)
    if previous and not told.get("lastState"):
        raise bad_request(f'previous terminated container "{container}" in pod "{name}" not found')
    waiting = (told.get("state") or {}).get("waiting") if told else {"reason": "PodInitializing"}
    if waiting and not told.get("lastState"):
        why = waiting.get("reason", "ContainerCreating")
        raise bad_request(f'container "{container}" in pod "{name}" is waiting to start: {why}')


def _status(statuses: Iterable[Wire], container: str) -> Wire:
    return next((one for one in statuses if one["name"] == container), {})


def _number(query: Query, key: str) -> int | None:
    written = first(query, key)
    if not written:
        return None
    if not written.isascii() or not written.isdigit():
        raise bad_request(f"{key} must be a whole number, not {written!r}")
    return int(written)
