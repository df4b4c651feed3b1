"""Jobs that are kept for a while after they finished, and for no longer."""

import asyncio
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from atoll.apiserver.assembly import assemble
from atoll.apiserver.authentication import MASTERS
from atoll.apiserver.housekeeping.expiry import plan
from atoll.client.inprocess import InProcess
from atoll.exchange import Peer, Request
from atoll.runtime.supervisor import Supervisor
from atoll.store.memory import MemoryLog
from atoll.store.store import Store
from simulation.world import simulate

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
JOBS = "/apis/batch/v1/namespaces/default/jobs"


def job(kept_s=None, ended=None, kind="Complete", holds="True", **meta):
    conditions = [{"type": kind, "status": holds, "lastTransitionTime": ended}] if ended else []
    spec = {} if kept_s is None else {"ttlSecondsAfterFinished": kept_s}
    return {"metadata": meta, "spec": spec, "status": {"conditions": conditions}}


@pytest.mark.parametrize(
    ("seen", "planned"),
    [
        pytest.param(job(60), None, id="not-finished"),
        pytest.param(job(None, "2026-01-01T11:00:00Z"), None, id="kept-for-ever"),
        pytest.param(job(60, "2026-01-01T11:59:00Z"), "delete", id="its-time-is-up"),
        pytest.param(job(60, "2026-01-01T11:59:50Z"), timedelta(seconds=50), id="not-yet"),
        pytest.param(job(0, "2026-01-01T12:00:00Z", "Failed"), "delete", id="failed-kept-not"),
        pytest.param(job(0, "2026-01-01T11:00:00Z", "Suspended"), None, id="only-suspended"),
        pytest.param(job(0, "2026-01-01T11:00:00Z", holds="False"), None, id="not-so"),
        pytest.param(
            job(0, "2026-01-01T11:00:00Z", deletionTimestamp="2026-01-01T11:30:00Z"),
            None,
            id="going-already",
        ),
    ],
)
def test_what_becomes_of_a_job(seen, planned):
    assert plan(seen, NOON) == planned


async def ask(transport, method, path, body=None):
    headers = {"content-type": "application/json"}
    response = await transport.send(Request(method, path, "", headers, orjson.dumps(body)))
    return response.status, orjson.loads(response.body)


def test_a_finished_job_goes_when_its_time_is_up_and_not_before():
    container = {"name": "c", "image": "i"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    wanted = {
        "metadata": {"name": "j"},
        "spec": {"ttlSecondsAfterFinished": 100, "template": template},
    }

    async def main(world):
        store = Store.open(MemoryLog())
        effects = world.effects("plane")
        server = assemble(store, effects)
        transport = InProcess(server.handle, Peer("admin", (MASTERS,)))
        async with Supervisor("server", effects.chance) as services:
            services.start("commits", store.run)
            await server.start()
            for name, service in server.services.items():
                services.start(name, service)
            assert (await ask(transport, "POST", JOBS, wanted))[0] == 201
            ended = effects.now().strftime("%Y-%m-%dT%H:%M:%SZ")
            done = [
                {"type": kind, "status": "True", "lastTransitionTime": ended}
                for kind in ("SuccessCriteriaMet", "Complete")
            ]
            status = {"conditions": done, "startTime": ended, "completionTime": ended}
            _, found = await ask(transport, "GET", f"{JOBS}/j")
            found["status"] |= status
            answer = await ask(transport, "PUT", f"{JOBS}/j/status", found)
            assert answer[0] == 200, answer
            await asyncio.sleep(95)
            early, _ = await ask(transport, "GET", f"{JOBS}/j")
            await asyncio.sleep(10)
            late, _ = await ask(transport, "GET", f"{JOBS}/j")
            await store.close()
            return early, late

    assert simulate(main, 1).value == (200, 404)
