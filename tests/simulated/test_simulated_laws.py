"""What holds in a member at every commit, and in the end, whatever is asked of it and whenever it
is interrupted.
"""

import asyncio
from collections import Counter, defaultdict
from contextlib import asynccontextmanager

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_talk import APPS, BATCH, ask, job, workload

from atoll.runtime.supervisor import Supervisor
from atoll.simulated.fleets import Pool
from atoll.simulated.kubelet import Pace
from atoll.simulated.member import build, running
from atoll.store.memory import MemoryLog
from simulation.world import simulate

FLEET = (Pool(count=2, cpu="1", pods=6), Pool(count=1, cpu="2", pods=4, zone="b"))
SLOTS, CPUS = 16, 4
ENDED = ("Succeeded", "Failed")
PACES = st.builds(
    Pace,
    start_s=st.sampled_from((0.0, 0.5, 5.0)),
    job_s=st.sampled_from((0.0, 3.0)),
    end_s=st.sampled_from((0.0, 0.5, 5.0)),
)
WISHES = st.lists(
    st.tuples(
        st.sampled_from(("deployments", "statefulsets", "replicasets")),
        st.sampled_from(("a", "b")),
        st.integers(0, 5),
        st.sampled_from(("100m", "300m", "900m")),
        st.sampled_from((0.0, 0.2, 3.0, 20.0)),
    ),
    min_size=1,
    max_size=7,
)


class Room:
    """Holds every commit of a member to what its nodes have."""

    def __init__(self, member):
        self._pods = {}
        self.most = 0
        for record in member.store.page("pods").records:
            self._note(record.name, record.value)
        member.store.listen(self.follow)

    def follow(self, events):
        for event in events:
            if event.after.collection != "pods":
                continue
            self._pods.pop(event.after.name, None)
            if not event.removed:
                self._note(event.after.name, event.after.value)
        used = defaultdict(Counter)
        for node, milli in self._pods.values():
            used[node] += {"pods": 1, "cpu": milli}
        for node, amounts in used.items():
            is_large = node == "node-3"
            assert amounts["pods"] <= (4 if is_large else 6), (node, amounts)
            assert amounts["cpu"] <= (2000 if is_large else 1000), (node, amounts)
        self.most = max(self.most, len(self._pods))

    def _note(self, name, value):
        pod = orjson.loads(value)
        node = pod["spec"].get("nodeName")
        if node and pod["status"]["phase"] not in ENDED:
            (container,) = pod["spec"]["containers"]
            cpu = container["resources"]["requests"]["cpu"]
            self._pods[name] = (node, int(cpu.removesuffix("m")))


async def _wish(member, wish):
    kind, name, replicas, cpu, _ = wish
    path = f"{APPS}{kind}"
    labels = {"of": f"{kind}-{name}"}
    wanted = workload(name, cpu, replicas=replicas, serviceName="s")
    if kind != "statefulsets":
        del wanted["spec"]["serviceName"]
    wanted["spec"]["selector"] = {"matchLabels": labels}
    wanted["spec"]["template"]["metadata"]["labels"] = labels
    if member.store.get(f"{kind}.apps", f"default/{name}") is None:
        await ask(member, "POST", path, wanted)
    else:
        await ask(member, "PATCH", f"{path}/{name}", {"spec": wanted["spec"]})


def _found(member, collection):
    return [orjson.loads(record.value) for record in member.store.page(collection).records]


async def _settled(member):
    """Long enough for everything that was asked for to have happened."""
    await asyncio.sleep(300.0)
    revision = member.store.revision
    await asyncio.sleep(60.0)
    assert member.store.revision == revision, "it goes on writing"


@asynccontextmanager
async def _until_it_crashes(member):
    """Run a member that does not get to closing its store."""
    async with Supervisor("store", member.effects.chance) as stores:
        stores.start("commits", member.store.run)
        async with Supervisor("member", member.effects.chance) as services:
            await member.start()
            for name, service in member.services.items():
                services.start(name, service)
            yield


@settings(max_examples=40)
@given(WISHES, PACES, st.lists(st.integers(0, 6), max_size=3), st.integers(0, 1000))
def test_in_the_end_there_are_exactly_the_wanted_pods_wherever_it_was_interrupted(
    wishes, pace, crashes, seed
):
    log = MemoryLog()
    lives = [[]]
    for number, wish in enumerate(wishes):
        lives[-1].append(wish)
        if number in crashes:
            lives.append([])

    async def main(world):
        faults = []
        for number, life in enumerate(lives):
            member = build("m", world.effects(f"m {number}"), log=log, fleet=FLEET, pace=pace)
            async with _until_it_crashes(member):
                Room(member)
                for wish in life:
                    await _wish(member, wish)
                    await asyncio.sleep(wish[-1])
                if life is lives[-1]:
                    await _settled(member)
                    faults = list(_faults(member))
                log.crash(kept=number % 2 == 0)
        return faults

    assert simulate(main, seed).value == []


def _faults(member):
    """What is not as it should be once everything has settled."""
    pods = _found(member, "pods")
    made = Counter(pod["metadata"]["labels"]["of"] for pod in pods)
    runs = [pod for pod in pods if pod["status"]["phase"] == "Running"]
    ready = Counter(pod["metadata"]["labels"]["of"] for pod in runs)
    for kind in ("deployments", "statefulsets", "replicasets"):
        for each in _found(member, f"{kind}.apps"):
            if kind == "replicasets" and each["metadata"].get("ownerReferences"):
                continue
            of, status = f"{kind}-{each['metadata']['name']}", each.get("status") or {}
            wanted = each["spec"]["replicas"]
            if status.get("observedGeneration") != each["metadata"]["generation"]:
                yield f"{of} is not looked after: {status}"
            if status.get("readyReplicas", 0) != ready[of]:
                yield f"{of} has {ready[of]} ready pods and says {status}"
            if (kind == "replicasets" or ready[of] == wanted) and made[of] != wanted:
                yield f"{of} has {made[of]} pods instead of {wanted}"
    hosts = member.keeper.hosts
    for pod in pods:
        mould = hosts.moulds.of(pod, "default")
        if not pod["spec"].get("nodeName") and hosts.places.choose(mould, "default"):
            yield f"{pod['metadata']['name']} waits for a place that is free"


@settings(max_examples=25)
@given(
    st.integers(0, 6),
    st.integers(1, 4),
    st.booleans(),
    PACES,
    st.lists(st.floats(0.1, 20.0), max_size=2),
)
def test_a_job_is_done_once_and_for_all_wherever_it_was_interrupted(
    completions, parallelism, indexed, pace, interruptions
):
    log = MemoryLog()
    mode = {"completionMode": "Indexed"} if indexed else {}

    async def main(world):
        for number, life_s in enumerate([*interruptions, 300.0]):
            member = build("m", world.effects(f"m {number}"), log=log, fleet=FLEET, pace=pace)
            async with running(member):
                Room(member)
                if not number:
                    wanted = job("w", completions=completions, parallelism=parallelism, **mode)
                    await ask(member, "POST", f"{BATCH}jobs", wanted)
                await asyncio.sleep(life_s)
                done = _found(member, "jobs.batch")[0]["status"]
                pods = _found(member, "pods")
        return done, pods

    done, pods = simulate(main, 1).value
    assert [one["type"] for one in done["conditions"]] == ["SuccessCriteriaMet", "Complete"]
    assert done.get("succeeded", 0) == completions == len(pods)
    if indexed:
        key = "batch.kubernetes.io/job-completion-index"
        found = sorted(int(pod["metadata"]["annotations"][key]) for pod in pods)
        assert found == list(range(completions))
