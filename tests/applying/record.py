"""Ask a real kube-apiserver what it makes of our scenarios and patches, and write its answers down.

Run by hand when scenarios.py, patches.py or the Kubernetes version changes: KUBERNETES_BIN names a
folder with etcd and kube-apiserver. Writes recorded/ here and in tests/patching: what was asked and
answered, without anything that depends on when or where it ran. Time stands still within a step of
a scenario and moves on by a second between steps. Names of recordings as arguments: only those.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import yaml
from scenario_steps import CONFIG_MAPS, CRD, DEPLOYMENTS, SERVICES, SHAPES
from scenarios import SCENARIOS

from testenv.build import Binaries
from testenv.cluster import Cluster, kubernetes

sys.path.append(str(Path(__file__).parents[1] / "patching"))
from patches import RECORDINGS

Json = dict[str, Any]

RECORDED = Path(__file__).parent / "recorded"
CREATION = "owners-of-new-objects"
SAMPLES = Path(__file__).parents[1] / "kinds" / "samples.yaml"
RECORDED_PATCHES = Path(__file__).parents[1] / "patching" / "recorded"
KINDS = {
    "ConfigMap": ("v1", CONFIG_MAPS),
    "Service": ("v1", SERVICES),
    "Deployment": ("apps/v1", DEPLOYMENTS),
    "Shape": ("rec.example.io/v1", SHAPES),
}
MEDIA_TYPES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


class Server:
    """The real one, as its administrator sees it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def __call__(
        self, method: str, path: str, body: Any = None, media_type: str = "application/json"
    ) -> Json:
        """The answer's body, be it an object or a Status."""
        data = None if method in ("GET", "DELETE") else json.dumps(body).encode()
        answer: Json = self.cluster.request(method, path, data, {"Content-Type": media_type}).json()
        return answer


def merged(target: Any, change: Any) -> Any:
    if not isinstance(change, dict):
        return change
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def perform(call: Server, name: str, kind: str, step: Json) -> Json:
    """One step; what is sent is completed in the step's body."""
    api_version, path = KINDS[kind]
    query = f"?fieldManager={step['manager']}" + ("&force=true" if step.get("force") else "")
    target = f"{path}/{name}" + (f"/{step['subresource']}" if "subresource" in step else "")
    if step["verb"] in ("create", "apply"):
        metadata = {"name": name, "namespace": "default", **step["body"].get("metadata", {})}
        type_meta = {"apiVersion": api_version, "kind": kind}
        step["body"] = {**type_meta, **step["body"], "metadata": metadata}
    if step["verb"] == "create":
        return call("POST", path + query, step["body"])
    if step["verb"] == "update":
        live = call("GET", target)
        metadata = {k: v for k, v in live["metadata"].items() if k != "managedFields"}
        return call("PUT", target + query, merged({**live, "metadata": metadata}, step["body"]))
    answer = call("PATCH", target + query, step["body"], MEDIA_TYPES[step["verb"]])
    return call("GET", f"{path}/{name}") if answer["kind"] == "Scale" else answer


class Clock:
    """Maps the server's times to those of the steps in which they first appeared."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self.now = ""

    def start(self, number: int) -> None:
        self.now = f"2030-01-01T00:{number // 60:02}:{number % 60:02}Z"

    def told(self, moment: str) -> str:
        if moment < "2021":  # a scenario's own
            return moment
        return self.known.setdefault(moment, self.now)


def normalised(obj: Json, clock: Clock) -> Json:
    metadata = dict(obj["metadata"])
    metadata.pop("resourceVersion", None)
    metadata["creationTimestamp"] = "2030-01-01T00:00:00Z"
    metadata["uid"] = "00000000-0000-4000-8000-000000000000"
    if "managedFields" in metadata:
        metadata["managedFields"] = [
            {**entry, "time": clock.told(entry["time"])} if "time" in entry else entry
            for entry in metadata["managedFields"]
        ]
    return {**obj, "metadata": metadata}


def record(call: Server, scenario: Json) -> list[Json]:
    """Every step of a scenario, with what came of it."""
    name, kind = scenario["name"], scenario["kind"]
    clock = Clock()
    steps = []
    for number, step in enumerate(scenario["steps"]):
        clock.start(number)
        done = dict(step)
        answer = perform(call, name, kind, done)
        done["now"] = clock.now
        if answer["kind"] == "Status":
            done["refused"] = {k: answer.get(k) for k in ("code", "reason", "message", "details")}
        else:
            done["object"] = normalised(answer, clock)
        steps.append(done)
        time.sleep(1.05 - time.time() % 1)  # just after the next second begins
    finish(call, f"{KINDS[kind][1]}/{name}")
    return steps


def finish(call: Server, path: str) -> None:
    call("PATCH", path, {"metadata": {"finalizers": None}}, MEDIA_TYPES["merge"])
    call("DELETE", path)


def define(call: Server) -> None:
    call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD)
    while call.cluster.request("GET", SHAPES).status != 200:
        time.sleep(0.5)
    time.sleep(5)  # until creating is allowed and the schema is known to server-side apply


def record_patches(call: Server, base: Json, kind: str, patches: list[Any]) -> list[Json]:
    """What each patch would make of the object; the first line is the object itself."""
    path = KINDS[base["kind"]][1]
    finish(call, f"{path}/{base['metadata']['name']}")
    clock = Clock()
    clock.start(0)
    created = call("POST", path, base)
    assert created["kind"] == base["kind"], created
    lines = [normalised(created, clock)]
    target = f"{path}/{base['metadata']['name']}?dryRun=All"
    for patch in patches:
        answer = call("PATCH", target, patch, MEDIA_TYPES[kind])
        asked = {"patch": patch} if len(json.dumps(patch)) < 10_000 else {"many": len(patch)}
        if answer["kind"] == "Status":
            keys = ("code", "reason", "message", "details")
            lines.append({**asked, "refused": {key: answer.get(key) for key in keys}})
        else:
            lines.append({**asked, "object": normalised(answer, clock)})
    finish(call, f"{path}/{base['metadata']['name']}")
    return lines


def record_creation(call: Server) -> list[Json]:
    """Who owns what in a new object of every kind, for the samples of tests/kinds."""
    lines = []
    for sample in yaml.safe_load_all(SAMPLES.read_text()):
        clock = Clock()
        clock.start(0)
        created = call("POST", f"{sample['resource']}?fieldManager=creator", sample["object"])
        assert created["kind"] == sample["object"]["kind"], created
        obj = normalised(created, clock)
        lines.append({"id": sample["id"], "owners": obj["metadata"].get("managedFields")})
    return lines


def write(path: Path, lines: list[Json]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("[\n" + ",\n".join(map(json.dumps, lines)) + "\n]\n")
    sys.stdout.write(f"{path.name}\n")


def main(chosen: list[str]) -> None:
    with kubernetes(Binaries(Path(os.environ["KUBERNETES_BIN"]))) as cluster:
        call = Server(cluster)
        define(call)
        for name, (base, kind, patches) in RECORDINGS.items():
            if not chosen or name in chosen:
                lines = record_patches(call, base, kind, patches)
                write(RECORDED_PATCHES / f"{name}.json", lines)
        if not chosen or CREATION in chosen:
            write(RECORDED / f"{CREATION}.json", record_creation(call))
        for scenario in SCENARIOS:
            if not chosen or scenario["name"] in chosen:
                write(RECORDED / f"{scenario['name']}.json", record(call, scenario))


if __name__ == "__main__":
    main(sys.argv[1:])
