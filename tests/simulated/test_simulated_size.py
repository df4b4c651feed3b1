"""A hundred clusters of a hundred nodes fit into one process: each takes a hundredth of it at most.

Memory is counted in a process of its own, of which nothing else is a part.
"""

import json
import subprocess
import sys

MEMBERS, NODES, PODS = 8, 100, 100
MOST_EACH_MIB = 2048 / 100

MEASURED = f"""
import asyncio, json, resource
from atoll.client.api import ApiClient, Collection
from atoll.effects import system_effects
from atoll.simulated.fleets import Pool
from atoll.simulated.member import build, running

DEPLOYMENTS = Collection("apps/v1", "Deployment", "deployments", namespaced=True)
LABELS = {{"app": "web"}}
WANTED = {{
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {{"name": "web", "namespace": "default"}},
    "spec": {{
        "replicas": {PODS},
        "selector": {{"matchLabels": LABELS}},
        "template": {{
            "metadata": {{"labels": LABELS}},
            "spec": {{"containers": [{{"name": "web", "image": "web"}}]}},
        }},
    }},
}}


async def main():
    effects = system_effects()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    members = [build(f"m{{n}}", effects, fleet=(Pool(count={NODES}),)) for n in range({MEMBERS})]
    async with running(*members):
        for member in members:
            api = ApiClient(member.transport)
            await api.create(DEPLOYMENTS, WANTED)
            ready = 0
            while ready < {PODS}:
                await asyncio.sleep(0.01)
                found = await api.get(DEPLOYMENTS.path("default", "web"))
                ready = (found.get("status") or {{}}).get("readyReplicas", 0)
        pods = sum(len(member.store.page("pods").records) for member in members)
        nodes = sum(len(member.store.page("nodes").records) for member in members)
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(json.dumps({{"pods": pods, "nodes": nodes, "kib": used}}))


asyncio.run(main())
"""


def test_a_member_of_a_hundred_nodes_and_pods_takes_a_hundredth_of_two_gibibytes():
    done = subprocess.run(
        [sys.executable, "-c", MEASURED], capture_output=True, text=True, timeout=240, check=True
    )
    found = json.loads(done.stdout)
    assert (found["pods"], found["nodes"]) == (MEMBERS * PODS, MEMBERS * NODES)
    assert found["kib"] / 1024 / MEMBERS < MOST_EACH_MIB
