"""A run of a whole plane, recorded and decided again: equal, unless what decides has changed."""

import asyncio
import base64
import logging
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from delivering import (
    KEY,
    MEANS,
    cluster,
    cluster_changed,
    has,
    marked,
    stored,
    work,
    work_changed,
)
from recordings import Kept, differing, kinds, steps, taped
from scheduling_world import Plane, ref
from sites import PATIENCE_S, POLICY, until
from test_eviction_whole import divided
from test_pipeline import NGINX, deployment, policy, ready, replicas_in
from test_traces_whole import NO_DEPLOYMENTS
from whole import plane_over

from atoll.client.transport import Transport
from atoll.control.delivery.decide.deliveries import Deliveries
from atoll.control.delivery.decide.events import Looked, Means, MemberView, MirrorReady
from atoll.control.recording import recorded
from atoll.control.scheduler.decide.scheduler import Scheduler
from atoll.effects import system_effects
from atoll.errors import AtollError, Malformed
from atoll.exchange import Request, Response
from atoll.interpreting.asking import Unanswered
from atoll.model.action import Ref
from atoll.simulated.member import running
from atoll.store.memory import MemoryLog
from atoll.wire import Object
from simulation.link import build

HIDDEN = "s3cr3t-of-the-shop"
IN_BASE64 = base64.b64encode(HIDDEN.encode()).decode()
FAILOVER = {
    "apiVersion": POLICY,
    "kind": "ClusterTaintPolicy",
    "metadata": {"name": "failover"},
    "spec": {
        "addOnConditions": [
            {"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]}
        ],
        "taints": [{"key": "failed", "effect": "NoExecute"}],
    },
}
NOWHERE = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"namespace": "default", "name": "nowhere"},
}
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {
        "namespace": "default",
        "name": "password",
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": f'{{"data": "{IN_BASE64}"}}'
        },
    },
    "data": {"password": IN_BASE64},
}


class Refusing:
    """A way to the plane on which the first word about what finds no place comes too late."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.refused = 0

    async def send(self, request: Request) -> Response:
        is_word = request.path.endswith("/resourcebindings/nowhere-configmap/status")
        if request.method == "PUT" and is_word and not self.refused:
            self.refused += 1
            body = orjson.loads(request.body)
            body["metadata"]["resourceVersion"] = "1"
            request = replace(request, body=orjson.dumps(body))
        return await self._inner.send(request)


async def moves(recording: Kept) -> None:
    """Work is divided, moved, scaled, refused here and there, and flees from a lost cluster."""
    effects = system_effects()
    members = {name: build(name, effects) for name in ("m1", "m2", "m3")}
    async with (
        asyncio.timeout(4 * PATIENCE_S),
        running(*members.values()),
        plane_over(members, MemoryLog(), effects, way=Refusing, recording=recording) as it,
    ):
        third = it.hub.sites["m3"]
        await third.api.create(third.collection("v1", "ResourceQuota"), NO_DEPLOYMENTS)
        written = await it.create(policy("m1", "m2", weights={"m1": 1, "m2": 3}))
        for template, where in ((SECRET, "m1"), (NOWHERE, "m4")):
            made = policy(where)
            made["metadata"]["name"] = template["metadata"]["name"]
            chosen = {"apiVersion": "v1", "kind": template["kind"]}
            made["spec"]["resourceSelectors"] = [{**chosen, "name": template["metadata"]["name"]}]
            await it.create(made)
            await it.create(template)
        await it.create(deployment(4))
        await until(lambda: (replicas_in(it, "m1"), replicas_in(it, "m2")) == (1, 3))
        await until(lambda: ready(it) == 4)
        await it.change(NGINX, replicas=8)
        await until(lambda: replicas_in(it, "m2") == 6)
        await until(lambda: it.hub.sites["m1"].find(Ref("v1", "Secret", "default", "password")))
        await it.change(Ref.of(written), **policy("m1", "m3")["spec"])
        await until(lambda: b"exceeded quota" in b"".join(recording.lines))
        await it.create(FAILOVER)
        await it.change(Ref.of(written), **divided("m1", "m2")["spec"])
        await until(lambda: replicas_in(it, "m1") == 8)
        members["m1"].kill()
        await until(lambda: replicas_in(it, "m2") == 8)


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    recording = Kept()
    asyncio.run(moves(recording))
    return recording.lines


def test_what_was_decided_in_a_run_is_decided_again(lines: list[bytes]) -> None:
    found = steps(lines)
    assert differing(found) == []
    told = kinds(found)
    assert min(told["ScheduleOnWrite"], told["Turn"], told["NotWritten"], told["Refused"]) > 0
    assert min(told["Looked"], told["Create"], told["Delete"], told["Write"]) > 0


def test_a_scheduler_that_does_not_give_room_back_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recording = Kept()
    it = taped(Plane(), recording)
    it.cluster("a", 3)
    it.create("x", 3)
    it.turn()
    it.finish(ref("x"), stores=False)
    it.create("y", 3)
    it.turn()
    assert differing(steps(recording.lines)) == []
    monkeypatch.setattr(Scheduler, "_give_back", lambda *_: None)
    first, *_ = differing(steps(recording.lines))
    assert (type(first.event).__name__, first.to) == ("Turn", "scheduler")


def test_no_value_of_a_secret_is_written_and_equal_ones_are_still_equal(
    lines: list[bytes],
) -> None:
    written = b"".join(lines)
    assert HIDDEN.encode() not in written
    assert IN_BASE64.encode() not in written
    marks = {
        orjson.dumps(manifest["data"])
        for each in steps(lines)
        for one in each.recorded
        for manifest in [(one.get("Create") or one.get("Update") or {}).get("object") or {}]
        if manifest.get("kind") == "Secret"
    }
    assert len(marks) == 1
    assert b"redacted-" in next(iter(marks))


def test_what_could_not_be_answered_is_not_answered_again() -> None:
    recording, asked = Kept(), list[str]()
    handle = recording.tap("delivery", Deliveries("").handle, agent_of="")

    def retain(_desired: Object, _observed: Object) -> Object:
        asked.append("retain")
        if len(asked) == 1:
            raise Unanswered(never)
        raise AtollError("its script fails")

    async def never() -> None:
        raise AssertionError("nobody finds out")

    other = {**marked(), "spec": {"replicas": 7}}
    means = Means(retain, MEANS.questions, MEANS.owners)
    looked = Looked(KEY, has(stored(other, annotations={})), means)
    handle(cluster_changed("m1", cluster()), 1.0)
    handle(work_changed(None, work()), 1.0)
    with pytest.raises(Unanswered):
        handle(looked, 2.0)
    handle(looked, 3.0)
    *_, unanswered, failed = steps(recording.lines)
    assert unanswered.recorded.startswith("Unanswered: ")
    assert "its script fails" in str(failed.recorded)
    assert differing([unanswered, failed]) == []
    assert len(asked) == 2


def test_another_recording_writes_the_same_secret_otherwise() -> None:
    made = [Kept(), Kept()]
    for each in made:
        handle = each.tap("delivery", lambda _event, _now: ())
        seen = MemberView(found={Ref.of(SECRET): SECRET})
        handle(Looked(("karmada-es-m1", "w"), seen, MEANS), 1.0)
    assert b"redacted-" in made[0].lines[-1]
    assert made[0].lines[-1] != made[1].lines[-1]


def test_a_recording_ends_at_its_limit_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    recording = Kept(bytes_most=400)
    handle = recording.tap("delivery", lambda _event, _now: ())
    with caplog.at_level(logging.WARNING):
        for number in range(50):
            assert handle(MirrorReady("m1", "v1", f"Kind{number}"), float(number)) == ()
    assert sum(map(len, recording.lines)) <= 400
    assert 0 < len(steps(recording.lines)) < 50
    assert [each.getMessage() for each in caplog.records] == ["The recording ends at 256 MiB"]


def test_a_file_that_is_too_large_already_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "run.jsonl"
    before = b'{"atoll":"0.2.0"' + b" " * 100 + b"}"
    file.write_bytes(before)
    monkeypatch.setattr("atoll.control.recording.BYTES_MOST", 50)
    with recorded(file, system_effects()) as recording:
        recording.tap("delivery", lambda _event, _now: ())(MirrorReady("m1", "v1", "K"), 1.0)
    assert file.read_bytes().strip() == before
    assert "The recording ends" in caplog.text


def test_what_cannot_be_recorded_ends_the_recording_and_not_the_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    recording = Kept()
    handle = recording.tap("delivery", lambda event, _now: (event,))
    assert len(handle(object(), 1.0)) == 1
    assert handle(MirrorReady("m1", "v1", "Kind"), 2.0)
    assert len(recording.lines) == 2
    assert "recording failed" in caplog.text


def test_events_that_were_lost_on_their_way_are_missed(lines: list[bytes]) -> None:
    with pytest.raises(Malformed, match="were lost on their way"):
        steps([*lines[:10], *lines[11:]])
