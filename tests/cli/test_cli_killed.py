"""Killed with -9 in the middle of propagation and started again, one process loses nothing.

Plane, controllers and simulated members are the real process, over real files.
"""

import asyncio
import json
from typing import Any

from running import Shell, until

from atoll.config import Config
from atoll.store.sqlite import SqliteLog
from atoll.store.store import Store

COUNT = 30
# How many were posted when it was killed; the last time it had only just begun.
MOMENTS = (1, 12, COUNT, COUNT)
CLUSTERS = ("member1", "member2")
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
BINDINGS = "/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings"


def deployment(name: str) -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "main", "image": "nginx"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def policy() -> dict[str, Any]:
    weights = [{"targetCluster": {"clusterNames": [each]}, "weight": 1} for each in CLUSTERS]
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "all"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
            "placement": {
                "clusterAffinity": {"clusterNames": list(CLUSTERS)},
                "replicaScheduling": {
                    "replicaSchedulingType": "Divided",
                    "replicaDivisionPreference": "Weighted",
                    "weightPreference": {"staticWeightList": weights},
                },
            },
        },
    }


def at_rest(shell: Shell) -> dict[tuple[str, str], str]:
    """What is in the members' files now that nobody runs: the uid by cluster and name."""

    async def look(store: Store) -> list[dict[str, Any]]:
        records = store.page("deployments.apps").records
        await store.close()
        return [json.loads(each.value)["metadata"] for each in records]

    found: dict[tuple[str, str], str] = {}
    for cluster in CLUSTERS:
        log = SqliteLog(Config(shell.data).member(cluster).store_file)
        for metadata in asyncio.run(look(Store.open(log))):
            found[cluster, metadata["name"]] = metadata["uid"]
    return found


def in_members(shell: Shell) -> dict[tuple[str, str], str]:
    return {
        (cluster, each["metadata"]["name"]): each["metadata"]["uid"]
        for cluster in CLUSTERS
        for each in shell.request("GET", DEPLOYMENTS, cluster=cluster)["items"]
    }


def ready(shell: Shell) -> dict[str, int]:
    items = shell.request("GET", DEPLOYMENTS)["items"]
    return {each["metadata"]["name"]: each["status"].get("readyReplicas", 0) for each in items}


def test_what_was_killed_again_and_again_in_the_middle_converges(shell: Shell) -> None:
    shell.up("--fleet", "tiny")
    path = "/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies"
    shell.request("POST", path, policy())
    names = [f"d{number:02}" for number in range(COUNT)]
    posted, seen = 0, dict[tuple[str, str], str]()
    for moment in MOMENTS:
        for name in names[posted:moment]:
            shell.request("POST", DEPLOYMENTS, deployment(name))
        posted = moment
        shell.kill()
        until(lambda: "not running" in shell.atoll("status").out, "the process has ended")
        for key, uid in at_rest(shell).items():
            assert seen.setdefault(key, uid) == uid, f"{key} was made twice"
        shell.up()
    wanted = {(cluster, name) for cluster in CLUSTERS for name in names}
    until(lambda: in_members(shell).keys() == wanted, "everything is in both members")
    until(lambda: ready(shell) == dict.fromkeys(names, 2), "all statuses are summed up")
    after = in_members(shell)
    assert {key: after[key] for key in seen} == seen, "nothing was made anew"
    assert len(shell.request("GET", BINDINGS)["items"]) == COUNT
    works = shell.request("GET", "/apis/work.karmada.io/v1alpha1/works")["items"]
    manifests = [one for each in works for one in each["spec"]["workload"]["manifests"]]
    deployed = [one for one in manifests if one["kind"] == "Deployment"]
    assert len(deployed) == len(CLUSTERS) * COUNT
