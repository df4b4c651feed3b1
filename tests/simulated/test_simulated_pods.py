"""Pods of a member in virtual time: they start, fail, run out, end, and lose their nodes."""

import asyncio
import json

import pytest
from simulated_talk import APPS, BATCH, CORE, JSON, ask, job, settled, template, workload
from test_simulated_in_time import in_virtual_time

from atoll.client.transport import closing, whole
from atoll.errors import UsageError
from atoll.exchange import Request
from atoll.simulated.fleets import Pool
from atoll.simulated.kubelet import Pace
from atoll.simulated.upsets import fill, find_node, lose_node

FLEET = (Pool(count=3, cpu="2", memory="4Gi"),)
PODS = f"{CORE}pods"


async def _items(member, path=PODS):
    return (await ask(member, "GET", path))["items"]


def _annotated(wanted, **notes):
    meta = wanted["spec"]["template"]["metadata"]
    named = {f"simulated.atoll.io/{key.replace('_', '-')}": note for key, note in notes.items()}
    wanted["spec"]["template"]["metadata"] = {**meta, "annotations": named}
    return wanted


def _waiting(pod):
    return pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"]


FAILURES = {
    "crash": ("Running", "CrashLoopBackOff"),
    "image": ("Pending", "ImagePullBackOff"),
}


@pytest.mark.parametrize(("kind", "looks"), FAILURES.items(), ids=FAILURES)
def test_pods_fail_as_their_annotation_says_or_the_name_of_their_image(kind, looks):
    async def scenario(member):
        noted = _annotated(workload("noted", replicas=1), fail=kind)
        named = workload("named", replicas=1)
        container = named["spec"]["template"]["spec"]["containers"][0]
        container["image"] = f"fail.simulated/{kind}:1"
        for each in (noted, named):
            await ask(member, "POST", f"{APPS}deployments", each)
        await asyncio.sleep(5.0)
        return [(pod["status"]["phase"], _waiting(pod)) for pod in await _items(member)]

    assert in_virtual_time(scenario, pace=Pace(start_s=1.0)).value == [looks, looks]


def test_a_pod_that_is_never_ready_lets_its_deployment_run_into_its_deadline():
    async def scenario(member):
        wanted = workload("w", replicas=1, progressDeadlineSeconds=60)
        await ask(member, "POST", f"{APPS}deployments", _annotated(wanted, fail="never-ready"))
        await asyncio.sleep(30.0)
        early = await ask(member, "GET", f"{APPS}deployments/w")
        await asyncio.sleep(60.0)
        late = await ask(member, "GET", f"{APPS}deployments/w")
        (pod,) = await _items(member)
        return pod["status"]["phase"], [
            {one["type"]: one["reason"] for one in each["status"]["conditions"]}["Progressing"]
            for each in (early, late)
        ]

    phase, reasons = in_virtual_time(scenario, pace=Pace(start_s=1.0)).value
    assert phase == "Running"
    assert reasons == ["ReplicaSetUpdated", "ProgressDeadlineExceeded"]


def test_what_crashes_is_started_again_ever_more_slowly():
    async def scenario(member):
        await ask(
            member,
            "POST",
            f"{APPS}deployments",
            _annotated(workload("w", replicas=1), fail="crash"),
        )
        seen = []
        for pause_s in (1.0, 10.0, 20.0, 40.0):
            await asyncio.sleep(pause_s)
            (pod,) = await _items(member)
            seen.append(pod["status"]["containerStatuses"][0]["restartCount"])
        return seen

    assert in_virtual_time(scenario).value == [0, 1, 2, 3]


def test_a_job_whose_pods_fail_tries_again_and_gives_up():
    async def scenario(member):
        wanted = _annotated(job("w", backoffLimit=2), fail="crash")
        await ask(member, "POST", f"{BATCH}jobs", wanted)
        await asyncio.sleep(5.0)
        first = len(await _items(member))
        await asyncio.sleep(120.0)
        status = (await ask(member, "GET", f"{BATCH}jobs/w"))["status"]
        return first, len(await _items(member)), status

    first, last, status = in_virtual_time(scenario).value
    assert (first, last, status["failed"]) == (1, 3, 3)
    assert [(one["type"], one["reason"]) for one in status["conditions"]] == [
        ("FailureTarget", "BackoffLimitExceeded"),
        ("Failed", "BackoffLimitExceeded"),
    ]


def test_a_job_that_says_so_goes_some_time_after_its_end():
    async def scenario(member):
        await ask(member, "POST", f"{BATCH}jobs", job("w", ttlSecondsAfterFinished=30))
        await settled(member, f"{BATCH}jobs/w", lambda status: status.get("succeeded") == 1)
        await asyncio.sleep(20.0)
        before = len(await _items(member, f"{BATCH}jobs"))
        await asyncio.sleep(20.0)
        return before, len(await _items(member, f"{BATCH}jobs")), len(await _items(member))

    assert in_virtual_time(scenario).value == (1, 0, 0)


def test_a_pod_runs_for_as_long_as_its_annotation_says():
    async def scenario(member):
        note = {"simulated.atoll.io/run-seconds": "20"}
        pod = {"metadata": {"name": "w", "annotations": note}, "spec": template()["spec"]}
        await ask(member, "POST", PODS, pod)
        seen = []
        for pause_s in (5.0, 20.0):
            await asyncio.sleep(pause_s)
            seen.append((await ask(member, "GET", f"{PODS}/w"))["status"]["phase"])
        return seen

    assert in_virtual_time(scenario).value == ["Running", "Succeeded"]


def test_ordinals_count_until_their_pods_are_gone():
    async def scenario(member):
        path = f"{APPS}statefulsets/w"
        await ask(member, "POST", f"{APPS}statefulsets", workload("w", replicas=3, serviceName="w"))
        await settled(member, path, lambda status: status.get("readyReplicas") == 3)
        await ask(member, "PATCH", path, {"spec": {"replicas": 1}})
        seen = []
        for pause_s in (1.0, 10.0, 10.0):
            await asyncio.sleep(pause_s)
            status = (await ask(member, "GET", path))["status"]
            seen.append((status["replicas"], len(await _items(member))))
        return seen

    # One after the other, the last first; each takes its time to end.
    assert in_virtual_time(scenario, pace=Pace(end_s=8.0)).value == [(3, 3), (2, 2), (1, 1)]


def test_a_pod_has_no_longer_than_its_grace_period_to_end():
    async def scenario(member):
        spec = {**template()["spec"], "terminationGracePeriodSeconds": 3}
        await ask(member, "POST", PODS, {"metadata": {"name": "w"}, "spec": spec})
        await settled(member, f"{PODS}/w", lambda status: status.get("phase") == "Running")
        await ask(member, "DELETE", f"{PODS}/w")
        seen = []
        for pause_s in (2.0, 2.0):
            await asyncio.sleep(pause_s)
            seen.append(len(await _items(member)))
        return seen

    assert in_virtual_time(scenario, pace=Pace(end_s=60.0)).value == [1, 0]


def test_pods_of_a_lost_node_move_after_five_minutes_and_end_when_it_is_found():
    async def scenario(member):
        await ask(member, "POST", f"{APPS}deployments", workload("w", replicas=3))
        path = f"{APPS}deployments/w"
        await settled(member, path, lambda status: status.get("readyReplicas") == 3)
        await lose_node(member.keeper, "node-2")
        seen = []
        for pause_s in (10.0, 300.0):
            await asyncio.sleep(pause_s)
            status = (await ask(member, "GET", path))["status"]
            where = sorted(pod["spec"]["nodeName"] for pod in await _items(member))
            seen.append((status["readyReplicas"], where.count("node-2"), len(where)))
        await find_node(member.keeper, "node-2")
        await asyncio.sleep(10.0)
        return seen, len(await _items(member))

    seen, last = in_virtual_time(scenario, fleet=FLEET).value
    assert seen == [(2, 1, 3), (3, 1, 4)]
    assert last == 3


def test_pods_of_a_node_that_comes_back_in_time_are_ready_again():
    async def scenario(member):
        await ask(member, "POST", f"{APPS}deployments", workload("w", replicas=3))
        path = f"{APPS}deployments/w"
        await settled(member, path, lambda status: status.get("readyReplicas") == 3)
        names = {pod["metadata"]["name"] for pod in await _items(member)}
        await lose_node(member.keeper, "node-2")
        await settled(member, path, lambda status: status.get("readyReplicas") == 2)
        await find_node(member.keeper, "node-2")
        await settled(member, path, lambda status: status.get("readyReplicas") == 3)
        await asyncio.sleep(600.0)
        return names, {pod["metadata"]["name"] for pod in await _items(member)}

    before, after = in_virtual_time(scenario, fleet=FLEET).value
    assert before == after


def test_a_node_that_is_deleted_takes_its_pods_along():
    async def scenario(member):
        await ask(member, "POST", f"{APPS}deployments", workload("w", replicas=3))
        path = f"{APPS}deployments/w"
        await settled(member, path, lambda status: status.get("readyReplicas") == 3)
        await ask(member, "DELETE", "/api/v1/nodes/node-2")
        await asyncio.sleep(10.0)
        return sorted({pod["spec"]["nodeName"] for pod in await _items(member)}), len(
            await _items(member)
        )

    assert in_virtual_time(scenario, fleet=FLEET).value == (["node-1", "node-3"], 3)


def test_a_taint_that_is_not_tolerated_drives_pods_out_in_their_time():
    async def scenario(member):
        soon = workload("soon", replicas=3)
        later = workload("later", replicas=3)
        tolerated = {"key": "bad", "operator": "Exists", "effect": "NoExecute"}
        patient = {**tolerated, "tolerationSeconds": 60}
        later["spec"]["template"]["spec"]["tolerations"] = [patient]
        for each in (soon, later):
            await ask(member, "POST", f"{APPS}deployments", each)
            path = f"{APPS}deployments/{each['metadata']['name']}"
            await settled(member, path, lambda status: status.get("readyReplicas") == 3)
        taint = {"spec": {"taints": [{"key": "bad", "effect": "NoExecute"}]}}
        await ask(member, "PATCH", "/api/v1/nodes/node-1", taint)
        seen = []
        for pause_s in (5.0, 60.0):
            await asyncio.sleep(pause_s)
            there = [
                pod["metadata"]["name"].partition("-")[0]
                for pod in await _items(member)
                if pod["spec"]["nodeName"] == "node-1"
            ]
            seen.append(sorted(set(there)))
        return seen

    seen = in_virtual_time(scenario, fleet=FLEET).value
    assert seen == [["later"], ["later"]]  # those that come back tolerate it for a while again


def test_a_member_is_filled_up_as_far_as_asked_and_emptied_again():
    async def scenario(member):
        await ask(member, "POST", f"{APPS}deployments", workload("w", "1", replicas=2))
        path = f"{APPS}deployments/w"
        await settled(member, path, lambda status: status.get("readyReplicas") == 2)
        used = []
        for share in (0.9, 1.0, 0.0):
            await fill(member.keeper, share)
            await asyncio.sleep(1.0)
            places = member.keeper.hosts.places
            used.append([places.used_on(name)["cpu"] for name in places.nodes])
        with pytest.raises(UsageError, match="between 0 and 1"):
            await fill(member.keeper, 1.5)
        with pytest.raises(UsageError, match='there is no node "node-9"; try: one of node-1'):
            await lose_node(member.keeper, "node-9")
        return used

    used = in_virtual_time(scenario, fleet=FLEET).value
    assert used == [[1800] * 3, [2000] * 3, [1000, 1000, 0]]


def test_the_log_of_a_pod_is_followed_to_its_end():
    async def scenario(member):
        await ask(member, "POST", f"{BATCH}jobs", job("w"))
        await asyncio.sleep(3.0)
        (pod,) = await _items(member)
        path = f"{PODS}/{pod['metadata']['name']}/log"
        response = await member.transport.send(Request("GET", path, "follow=true", JSON))
        async with closing(response.stream):
            followed = b"".join([chunk async for chunk in response.stream])
        ended = asyncio.get_running_loop().time()
        again = await whole(await member.transport.send(Request("GET", path, "tailLines=1", JSON)))
        return followed.decode().splitlines(), again.body, ended

    lines, last, ended = in_virtual_time(scenario, pace=Pace(start_s=2.0, job_s=8.0)).value
    assert [line.partition(": ")[2].split()[0] for line in lines] == [
        "nginx:1",
        "runs",
        "is",
        "ends",
    ]
    assert last == b"web: ends with exit code 0\n"
    assert ended == 10.0


REFUSED = {
    "container=other": "container other is not valid for pod w",
    "previous=true": 'previous terminated container "web" in pod "w" not found',
    "tailLines=x": "tailLines must be a whole number, not 'x'",
}


@pytest.mark.parametrize(("query", "said"), REFUSED.items(), ids=REFUSED)
def test_a_log_that_cannot_be_given_is_refused_with_the_reason(query, said):
    async def scenario(member):
        await ask(member, "POST", PODS, {"metadata": {"name": "w"}, "spec": template()["spec"]})
        await settled(member, f"{PODS}/w", lambda status: status.get("phase") == "Running")
        request = Request("GET", f"{PODS}/w/log", query, JSON)
        return json.loads((await whole(await member.transport.send(request))).body)

    found = in_virtual_time(scenario).value
    assert (found["code"], found["message"]) == (400, said)


SETS = {
    "replicasets": (APPS, {"matchLabels": {"app": "nginx"}}),
    "replicationcontrollers": (CORE, {"app": "nginx"}),
}


@pytest.mark.parametrize("kind", SETS)
def test_sets_take_pods_that_nobody_has_and_let_go_of_those_they_do_not_mean(kind):
    root, selector = SETS[kind]

    def owners(pod):
        return [one["name"] for one in pod["metadata"].get("ownerReferences", ())]

    async def scenario(member):
        await ask(member, "POST", PODS, _stray(template()))
        wanted = workload("w", replicas=1, selector=selector)
        await ask(member, "POST", f"{root}{kind}", wanted)
        await settled(member, f"{root}{kind}/w", lambda status: status.get("readyReplicas"))
        taken = {pod["metadata"]["name"]: owners(pod) for pod in await _items(member)}
        await ask(member, "PATCH", f"{PODS}/stray", {"metadata": {"labels": {"app": "mine"}}})
        await asyncio.sleep(5.0)
        left = {pod["metadata"]["name"]: owners(pod) for pod in await _items(member)}
        return taken, left

    taken, left = in_virtual_time(scenario).value
    assert taken == {"stray": ["w"]}
    assert left.pop("stray") == []
    assert list(left.values()) == [["w"]]


def test_a_pod_of_a_deployment_can_be_set_aside():
    async def scenario(member):
        await ask(member, "POST", f"{APPS}deployments", workload("w", replicas=2))
        await settled(member, f"{APPS}deployments/w", lambda status: status.get("readyReplicas"))
        aside = (await _items(member))[0]["metadata"]["name"]
        await ask(member, "PATCH", f"{PODS}/{aside}", {"metadata": {"labels": {"app": None}}})
        await asyncio.sleep(5.0)
        pods = {pod["metadata"]["name"]: pod["metadata"] for pod in await _items(member)}
        return pods[aside].get("ownerReferences"), len(pods)

    assert in_virtual_time(scenario).value == (None, 3)


def test_a_revision_is_known_by_what_it_says_not_by_its_name():
    revisions = f"{APPS}controllerrevisions"

    async def scenario(member):
        await ask(member, "POST", f"{APPS}daemonsets", workload("w"))
        await settled(member, f"{APPS}daemonsets/w", lambda status: status.get("numberReady"))
        (first,) = await _items(member, revisions)
        owners = first["metadata"]["ownerReferences"]
        meta = {"name": "another", "ownerReferences": owners}
        await ask(member, "POST", revisions, {**first, "metadata": meta, "revision": 2})
        await ask(member, "DELETE", f"{revisions}/{first['metadata']['name']}")
        await asyncio.sleep(5.0)
        return [one["metadata"]["name"] for one in await _items(member, revisions)]

    assert in_virtual_time(scenario).value == ["another"]


def _stray(made_from):
    """A pod made from a template by hand."""
    return {"metadata": {"name": "stray", **made_from["metadata"]}, "spec": made_from["spec"]}


def test_a_pod_ends_when_it_was_active_for_too_long():
    async def scenario(member):
        await ask(member, "POST", PODS, _stray(template()))
        await asyncio.sleep(1.0)
        change = {"spec": {"activeDeadlineSeconds": 30}}
        await ask(member, "PATCH", f"{PODS}/stray", change)
        seen = []
        for pause_s in (20.0, 20.0):
            await asyncio.sleep(pause_s)
            status = (await ask(member, "GET", f"{PODS}/stray"))["status"]
            seen.append((status["phase"], status.get("reason")))
        return seen

    assert in_virtual_time(scenario).value == [("Running", None), ("Failed", "DeadlineExceeded")]


@pytest.mark.parametrize("limit", [{}, {"activeDeadlineSeconds": 5000}], ids=["plain", "limited"])
def test_what_is_told_of_a_pod_is_of_its_present_wishes(limit):
    async def scenario(member):
        await ask(member, "POST", PODS, _stray(template(**limit)))
        await settled(member, f"{PODS}/stray", lambda status: status["phase"] == "Running")
        seen = []
        for image in ("nginx:2", "nginx:3"):
            pod = await ask(member, "GET", f"{PODS}/stray")
            pod["spec"]["containers"][0]["image"] = image
            await ask(member, "PUT", f"{PODS}/stray", pod)
            await asyncio.sleep(1.0)
            pod = await ask(member, "GET", f"{PODS}/stray")
            told = {one["observedGeneration"] for one in pod["status"]["conditions"]}
            seen.append((pod["metadata"]["generation"], pod["status"]["observedGeneration"], told))
        return seen

    assert in_virtual_time(scenario).value == [(2, 2, {2}), (3, 3, {3})]


@pytest.mark.parametrize(
    ("container", "done"),
    [
        ({"command": ["sleep", "60"]}, [False, True]),
        ({"command": ["/bin/sh", "-c"], "args": ["sleep 60"]}, [False, True]),
        ({"image": "registry.example:5000/pause:3.10"}, [False, False]),
        ({"command": ["make"]}, [True, True]),
    ],
    ids=["sleeps", "sleeps in a shell", "pauses", "works"],
)
def test_the_pod_of_a_job_sleeps_as_long_as_its_command_says(container, done):
    async def scenario(member):
        wanted = job("j")
        wanted["spec"]["template"]["spec"]["containers"][0] |= container
        await ask(member, "POST", f"{BATCH}jobs", wanted)
        found = []
        for _ in range(2):
            await asyncio.sleep(40.0)
            status = (await ask(member, "GET", f"{BATCH}jobs/j"))["status"]
            found.append(status.get("succeeded", 0) == 1)
        return found

    assert in_virtual_time(scenario, pace=Pace(job_s=1.0)).value == done


@pytest.mark.parametrize("image", ["web:404", "foo:non-existent", "a.example/b:nonexistent"])
def test_an_image_whose_tag_says_that_it_is_not_there_is_not_pulled(image):
    async def scenario(member):
        wanted = workload("w", replicas=1)
        wanted["spec"]["template"]["spec"]["containers"][0]["image"] = image
        await ask(member, "POST", f"{APPS}deployments", wanted)
        await asyncio.sleep(5.0)
        (pod,) = await _items(member)
        return _waiting(pod)

    assert in_virtual_time(scenario).value == "ImagePullBackOff"


def test_a_job_keeps_the_conditions_that_others_tell_of_it():
    async def scenario(member):
        wanted = job("j")
        wanted["spec"]["template"]["spec"]["containers"][0]["command"] = ["sleep", "60"]
        await ask(member, "POST", f"{BATCH}jobs", wanted)
        await asyncio.sleep(5.0)
        own = {"type": "Own", "status": "True"}
        told = {"status": {"conditions": [own]}}
        await ask(member, "PATCH", f"{BATCH}jobs/j/status", told)
        await asyncio.sleep(90.0)
        found = (await ask(member, "GET", f"{BATCH}jobs/j"))["status"]["conditions"]
        return [one["type"] for one in found]

    assert in_virtual_time(scenario).value == ["Own", "SuccessCriteriaMet", "Complete"]


def test_a_deployment_that_is_scaled_while_it_rolls_keeps_its_proportions():
    async def scenario(member):
        rolling = {"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}}
        wanted = workload("w", cpu="1m", replicas=10, strategy=rolling)
        await ask(member, "POST", f"{APPS}deployments", wanted)
        await asyncio.sleep(5.0)
        stuck = workload("w")["spec"]["template"]
        stuck["spec"]["containers"][0]["image"] = "nginx:404"
        await ask(member, "PATCH", f"{APPS}deployments/w", {"spec": {"template": stuck}})
        await asyncio.sleep(5.0)
        found = []
        for replicas in (10, 30, 10):
            await ask(member, "PATCH", f"{APPS}deployments/w", {"spec": {"replicas": replicas}})
            await asyncio.sleep(5.0)
            sets = await _items(member, f"{APPS}replicasets")
            found.append(sorted(one["spec"]["replicas"] for one in sets))
        return found

    fleet = (Pool(count=3, cpu="8", memory="64Gi"),)
    assert in_virtual_time(scenario, fleet=fleet).value == [[5, 8], [13, 20], [5, 8]]
