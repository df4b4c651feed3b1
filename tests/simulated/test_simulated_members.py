"""A member keeps the status of its workloads as a real cluster would, through its real API."""

import asyncio
from collections import Counter
from datetime import UTC, datetime
from functools import partial

import pytest
from simulated_talk import APPS, BATCH, CORE, LABELS, ask, job, settled, template, workload

from atoll.effects import Chance, Effects
from atoll.simulated.fleets import Pool
from atoll.simulated.keeping import Pace
from atoll.simulated.member import build, running
from atoll.store.memory import MemoryLog

EFFECTS = Effects(lambda: datetime(2026, 1, 1, tzinfo=UTC), Chance("tests"))
SMALL = (Pool(count=2, cpu="1", memory="4Gi", pods=10, zone="a"),)


def in_member(scenario, **options):
    """Run a scenario in one member under plain asyncio."""

    async def main():
        member = build("m1", EFFECTS, **options)
        async with running(member):
            return await scenario(member)

    return asyncio.run(main())


async def _conditions(member, path):
    found = (await ask(member, "GET", path))["status"]["conditions"]
    return {one["type"]: (one["status"], one["reason"]) for one in found}


KINDS = {
    "deployment": (
        f"{APPS}deployments",
        workload("w", replicas=3),
        {
            "observedGeneration": 1,
            "replicas": 3,
            "updatedReplicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
        },
    ),
    "stateful set": (
        f"{APPS}statefulsets",
        workload("w", replicas=3, serviceName="w"),
        {
            "observedGeneration": 1,
            "replicas": 3,
            "updatedReplicas": 3,
            "currentReplicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
            "collisionCount": 0,
        },
    ),
    "daemon set": (
        f"{APPS}daemonsets",
        workload("w"),
        {
            "observedGeneration": 1,
            "currentNumberScheduled": 2,
            "desiredNumberScheduled": 2,
            "numberReady": 2,
            "numberAvailable": 2,
            "updatedNumberScheduled": 2,
            "numberMisscheduled": 0,
        },
    ),
    "replica set": (
        f"{APPS}replicasets",
        workload("w", replicas=2),
        {
            "observedGeneration": 1,
            "replicas": 2,
            "fullyLabeledReplicas": 2,
            "readyReplicas": 2,
            "availableReplicas": 2,
        },
    ),
    "job": (
        f"{BATCH}jobs",
        job("w", completions=5, parallelism=2),
        {
            "startTime": "2026-01-01T00:00:00Z",
            "completionTime": "2026-01-01T00:00:00Z",
            "succeeded": 5,
            "ready": 0,
            "terminating": 0,
            "uncountedTerminatedPods": {},
        },
    ),
    "pod": (
        f"{CORE}pods",
        {"metadata": {"name": "w"}, "spec": template()["spec"]},
        {
            "phase": "Running",
            "startTime": "2026-01-01T00:00:00Z",
            "qosClass": "Burstable",
            "observedGeneration": 1,
        },
    ),
    "claim": (
        f"{CORE}persistentvolumeclaims",
        {
            "metadata": {"name": "w"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "5Gi"}},
            },
        },
        {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "5Gi"}},
    ),
}
MORE = ("conditions", "containerStatuses", "currentRevision", "updateRevision")
MORE += ("hostIP", "hostIPs", "podIP", "podIPs")
# No write more than it takes: each object once, and once more to tell its status.
MADE = {
    "deployment": {"deployments": 2, "replicasets": 2, "pods": 3},
    "stateful set": {"statefulsets": 2, "controllerrevisions": 1, "pods": 3},
    "daemon set": {"daemonsets": 2, "controllerrevisions": 1, "pods": 2},
    "replica set": {"replicasets": 2, "pods": 2},
    "job": {"jobs": 2, "pods": 5},
    "pod": {"pods": 2},
    "claim": {"persistentvolumeclaims": 2, "persistentvolumes": 1},
}
COUNTED = {what for counts in MADE.values() for what in counts}


@pytest.mark.parametrize(
    ("path", "wanted", "expected", "made"),
    [(*KINDS[kind], MADE[kind]) for kind in KINDS],
    ids=KINDS,
)
def test_each_kind_gets_what_its_controllers_make_and_its_status(path, wanted, expected, made):
    async def scenario(member):
        writes = Counter()
        member.store.listen(lambda events: writes.update(map(_what, events)))
        await ask(member, "POST", path, wanted)
        found = await settled(
            member, f"{path}/w", lambda status: expected.items() <= status.items()
        )
        await asyncio.sleep(0.02)
        return found, {what: count for what, count in writes.items() if what in COUNTED}

    found, writes = in_member(scenario, fleet=SMALL)
    assert {key: found[key] for key in found if key not in MORE} == expected
    assert writes == made


def _what(event):
    return event.after.collection.partition(".")[0]


def test_a_deployment_says_that_it_is_available_and_done():
    async def scenario(member):
        path = f"{APPS}deployments"
        await ask(member, "POST", path, workload("w", replicas=1))
        await settled(member, f"{path}/w", lambda status: status.get("readyReplicas") == 1)
        return await _conditions(member, f"{path}/w")

    assert in_member(scenario) == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }


def test_a_load_balancer_gets_an_address_and_other_services_none():
    async def scenario(member):
        for name, kind in (("lb", "LoadBalancer"), ("inner", "ClusterIP")):
            spec = {"type": kind, "ports": [{"port": 80}]}
            await ask(member, "POST", f"{CORE}services", {"metadata": {"name": name}, "spec": spec})
        lb = await settled(
            member, f"{CORE}services/lb", lambda status: status["loadBalancer"].get("ingress")
        )
        return lb, (await ask(member, "GET", f"{CORE}services/inner"))["status"]

    balanced, inner = in_member(scenario)
    assert balanced["loadBalancer"]["ingress"][0]["ip"].startswith("198.1")
    assert inner == {"loadBalancer": {}}


def test_scaling_is_observed():
    async def scenario(member):
        path = f"{APPS}deployments"
        await ask(member, "POST", path, workload("w", replicas=1))
        await ask(member, "PATCH", f"{path}/w", {"spec": {"replicas": 4}})
        more = await settled(member, f"{path}/w", lambda status: status.get("readyReplicas") == 4)
        await ask(member, "PATCH", f"{path}/w", {"spec": {"replicas": 0}})
        none = await settled(member, f"{path}/w", lambda s: s.get("observedGeneration") == 3)
        return more["observedGeneration"], none.get("replicas", 0)

    assert in_member(scenario) == (2, 0)


def test_room_limits_what_is_ready_and_is_given_on_when_it_is_free():
    async def scenario(member):
        path = f"{APPS}deployments"
        await ask(member, "POST", path, workload("first", "500m", replicas=3))
        await ask(member, "POST", path, workload("second", "500m", replicas=3))
        short = await settled(member, f"{path}/second", lambda s: s.get("readyReplicas") == 1)
        said = await _conditions(member, f"{path}/second")
        await ask(member, "DELETE", f"{path}/first")
        full = await settled(member, f"{path}/second", lambda s: s.get("readyReplicas") == 3)
        return short, said, full

    short, said, full = in_member(scenario, fleet=SMALL)
    assert (short["replicas"], short["unavailableReplicas"]) == (3, 2)
    assert said["Available"] == ("False", "MinimumReplicasUnavailable")
    assert "unavailableReplicas" not in full


def test_a_pod_without_room_is_pending_and_says_why():
    async def scenario(member):
        await ask(member, "POST", f"{CORE}pods", _big_pod())
        return await settled(member, f"{CORE}pods/big", lambda status: status.get("conditions"))

    found = in_member(scenario, fleet=SMALL)
    assert found["phase"] == "Pending"
    assert [(one["type"], one["reason"]) for one in found["conditions"]] == [
        ("PodScheduled", "Unschedulable")
    ]


def _big_pod():
    return {"metadata": {"name": "big"}, "spec": template("64")["spec"]}


def test_daemons_follow_the_nodes_that_match():
    async def scenario(member):
        path = f"{APPS}daemonsets"
        wanted = workload("w")
        wanted["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "fast"}
        await ask(member, "POST", path, wanted)
        none = await settled(member, f"{path}/w", lambda status: "numberReady" in status)
        labels = {"metadata": {"labels": {"disk": "fast"}}}
        await ask(member, "PATCH", "/api/v1/nodes/node-2", labels)
        one = await settled(member, f"{path}/w", lambda status: status["numberReady"] == 1)
        await ask(member, "DELETE", "/api/v1/nodes/node-2")
        await settled(member, f"{path}/w", lambda status: status["numberReady"] == 0)
        return none["desiredNumberScheduled"], one["desiredNumberScheduled"]

    assert in_member(scenario, fleet=SMALL) == (0, 1)


def test_a_suspended_job_waits_until_it_is_resumed():
    async def scenario(member):
        await ask(member, "POST", f"{BATCH}jobs", job("w", suspend=True))
        await settled(member, f"{BATCH}jobs/w", lambda status: status.get("conditions"))
        paused = await _conditions(member, f"{BATCH}jobs/w")
        await ask(member, "PATCH", f"{BATCH}jobs/w", {"spec": {"suspend": False}})
        await settled(member, f"{BATCH}jobs/w", lambda status: status.get("succeeded") == 1)
        return paused, await _conditions(member, f"{BATCH}jobs/w")

    paused, done = in_member(scenario)
    assert paused == {"Suspended": ("True", "JobSuspended")}
    assert done["Complete"] == ("True", "CompletionsReached")
    assert done["Suspended"] == ("False", "JobResumed")


def test_a_member_that_is_started_again_goes_on_where_it_was():
    log = MemoryLog()
    path = f"{APPS}deployments"

    async def first(member):
        await ask(member, "POST", path, workload("w", replicas=2))
        await settled(member, f"{path}/w", lambda status: status.get("readyReplicas") == 2)
        return member.store.revision

    async def again(member):
        await asyncio.sleep(0.02)
        return member.store.revision, (await ask(member, "GET", f"{path}/w"))["status"]

    before = in_member(first, log=log)
    # Pods that were ready do not start anew, however long that would take.
    after, status = in_member(again, log=log, pace=Pace(start_s=60.0))
    assert (after, status["readyReplicas"]) == (before, 2)


def test_many_members_share_a_process_and_nothing_else():
    async def main():
        members = [build(f"m{number}", EFFECTS) for number in range(10)]
        async with running(*members):
            await ask(members[3], "POST", f"{APPS}deployments", workload("w", replicas=1))
            path = f"{APPS}deployments/w"
            await settled(members[3], path, lambda status: status.get("readyReplicas") == 1)
            lists = [await ask(one, "GET", f"{APPS}deployments") for one in members]
            return [len(one["items"]) for one in lists]

    assert asyncio.run(main()) == [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]


def test_a_burst_of_deployments_takes_no_more_writes_than_one_by_one():
    async def scenario(member):
        path, writes = f"{APPS}deployments", Counter()
        member.store.listen(lambda events: writes.update(map(_what, events)))
        post = partial(ask, member, "POST", path)
        await asyncio.gather(*(post(workload(f"w{n}", replicas=1)) for n in range(50)))
        for n in range(50):
            await settled(member, f"{path}/w{n}", lambda s: s.get("readyReplicas") == 1)
        return [writes[what] for what in ("deployments", "replicasets", "pods")]

    assert in_member(scenario) == [100, 100, 50]


def test_a_deployment_takes_over_replica_sets_that_it_means_and_lets_go_those_it_does_not():
    async def scenario(member):
        await ask(member, "POST", f"{APPS}replicasets", workload("old", replicas=2))
        await settled(member, f"{APPS}replicasets/old", lambda one: one.get("readyReplicas") == 2)
        old = {"metadata": {"labels": LABELS}}
        await ask(member, "PATCH", f"{APPS}replicasets/old", old)
        wanted = workload("w", replicas=2)
        await ask(member, "POST", f"{APPS}deployments", wanted)
        await settled(member, f"{APPS}deployments/w", lambda one: one.get("updatedReplicas") == 2)
        [same] = (await ask(member, "GET", f"{APPS}replicasets"))["items"]
        pods = (await ask(member, "GET", f"{CORE}pods"))["items"]
        other = {"metadata": {"labels": {"app": "other"}}}
        await ask(member, "PATCH", f"{APPS}replicasets/old", other)
        async with asyncio.timeout(120):
            while len(sets := (await ask(member, "GET", f"{APPS}replicasets"))["items"]) < 2:
                await asyncio.sleep(0.001)
        return same, pods, sets

    same, pods, sets = in_member(scenario)
    assert same["metadata"]["ownerReferences"][0]["name"] == "w"  # of the very same template
    assert len(pods) == 2
    owners = {one["metadata"]["name"]: one["metadata"].get("ownerReferences") for one in sets}
    assert owners.pop("old") is None
    assert [each[0]["kind"] for each in owners.values()] == ["Deployment"]


def test_revisions_of_a_daemon_set_bear_the_mark_of_its_pods_and_are_written_in_order():
    async def scenario(member):
        await ask(member, "POST", f"{APPS}daemonsets", workload("w"))
        await settled(member, f"{APPS}daemonsets/w", lambda one: one.get("numberReady"))
        [revision] = (await ask(member, "GET", f"{APPS}controllerrevisions"))["items"]
        return revision, (await ask(member, "GET", f"{CORE}pods"))["items"]

    revision, pods = in_member(scenario)
    mark = revision["metadata"]["labels"]["controller-revision-hash"]
    assert {one["metadata"]["labels"]["controller-revision-hash"] for one in pods} == {mark}
    assert revision["metadata"]["labels"].items() >= LABELS.items()
    template = revision["data"]["spec"]["template"]
    assert list(template) == sorted(template) == ["$patch", "metadata", "spec"]
