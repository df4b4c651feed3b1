"""What controllers count, as Prometheus reads it, and the page that tells of it."""

import asyncio
import re
from pathlib import Path

from sites import until
from test_pipeline import NGINX, deployment, policy, ready, replicas_in
from whole import Whole, whole

from atoll.control.hub import CLUSTER
from atoll.control.states import families
from atoll.hosting.process import election
from atoll.instruments.families import text_of
from atoll.model.action import Ref
from atoll.runtime.watchdog import Watchdog

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")


def numbers(it: Whole) -> dict[str, float]:
    """Every sample there is, by name and labels as they are written."""
    lines = text_of(families(it.hub)).splitlines()
    return {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
        for line in lines
        if not line.startswith("#")
    }


def test_what_became_of_a_deployment_is_counted_and_a_member_takes_its_numbers_along() -> None:
    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            await it.create(policy("m1", "m2"))
            await it.create(deployment(2))
            await until(lambda: ready(it) == 4)
            await until(lambda: replicas_in(it, "m2") == 2)
            found = numbers(it)
            attempts = "karmada_scheduler_schedule_attempts_total"
            kind = 'apiversion="apps/v1",kind="Deployment"'
            new = 'result="scheduled",schedule_type="ReconcileSchedule"'
            assert found[f"{attempts}{{{new}}}"] >= 1
            assert found['atoll_decisions_total{outcome="Success"}'] >= 1
            assert found['policy_apply_attempts_total{result="success"}'] >= 1
            assert found['binding_sync_work_duration_seconds_count{result="success"}'] >= 1
            assert found['work_sync_workload_duration_seconds_count{result="success"}'] >= 2
            for name in ("m1", "m2"):
                created = f'result="success",{kind},member_cluster="{name}",recreate="false"'
                assert found[f"create_resource_to_cluster{{{created}}}"] == 1
                assert found[f'cluster_ready_state{{member_cluster="{name}"}}'] == 1
                assert found[f'cluster_cpu_allocatable_number{{member_cluster="{name}"}}'] > 0
                assert found[f'atoll_cluster_silent{{member_cluster="{name}"}}'] == 0
                posted = f'code="201",host="{name}",method="POST"'
                assert found[f"rest_client_requests_total{{{posted}}}"] >= 1
            assert found['workqueue_adds_total{name="detector"}'] >= 1
            assert found['scheduler_pending_bindings{queue="active"}'] == 0
            added = found['karmada_scheduler_queue_incoming_bindings_total{event="BindingAdd"}']
            assert added == 1

            leaving = it.hub.plane.find(Ref(CLUSTER, "Cluster", "", "m2"))
            assert leaving is not None
            await it.delete(leaving)
            await until(lambda: "m2" not in it.hub.ways())
            await until(lambda: it.hub.cluster("m2") is None)
            left = [each for each in numbers(it) if '"m2"' in each]
            assert left == []
            assert it.hub.plane.find(NGINX) is not None

    asyncio.run(story())


def test_the_page_tells_of_every_family_and_of_no_other() -> None:
    async def story() -> str:
        async with whole(["m1"]) as it:
            server = (await it.api.read("/metrics")).body.decode()
            others = [*families(it.hub), *Watchdog().numbers(), *election(leads=True)]
            return server + text_of(others)

    known = set(re.findall(r"^# TYPE (\w+) (\w+)$", asyncio.run(story()), re.MULTILINE))
    told = set(re.findall(r"^\| `(\w+)` \| (\w+) \|", PAGE.read_text(), re.MULTILINE))
    # What is there with an audit log or with traces only, their own tests look at.
    apart = ("apiserver_audit_", "atoll_trace_")
    assert {each for each in told if not each[0].startswith(apart)} == known


def test_every_number_is_written_as_prometheus_reads_it() -> None:
    async def story() -> str:
        async with whole(["m1"]) as it:
            return text_of(families(it.hub))

    lines = asyncio.run(story()).splitlines()
    samples = [line for line in lines if not line.startswith("#")]
    assert samples
    assert all(_SAMPLE.match(each) for each in samples)
    helps = [line.split()[2] for line in lines if line.startswith("# HELP ")]
    assert helps == sorted(set(helps)), "each family once"
