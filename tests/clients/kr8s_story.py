"""What somebody does with kr8s: python kr8s_story.py KUBECONFIG prints what it saw, as JSON.

In a process of its own, for kr8s leaves connections to the end of the process to be closed.
"""

import json
import sys
from typing import Any

import kr8s
from kr8s.objects import ConfigMap, CustomResourceDefinition, Deployment, new_class

Seen = dict[str, Any]

GADGET = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
}
VERSION = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": GADGET}}
DEFINITION = {
    "metadata": {"name": "gadgets.kr8s.example.com"},
    "spec": {
        "group": "kr8s.example.com",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
        "versions": [VERSION],
    },
}
LABELS = {"app": "web"}
WORKLOAD = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": LABELS},
        "template": {
            "metadata": {"labels": LABELS},
            "spec": {"containers": [{"name": "main", "image": "nginx:1"}]},
        },
    },
}


def configmap(api: kr8s.Api, name: str, **data: str) -> ConfigMap:
    return ConfigMap({"metadata": {"name": name, "namespace": "default"}, "data": data}, api=api)


def looking(api: kr8s.Api) -> Seen:
    kinds = {each["kind"] for each in api.api_resources()}
    wanted = {"ConfigMap", "Deployment", "PropagationPolicy", "Cluster"}
    return {"major": api.version()["major"], "kinds": sorted(kinds & wanted), "me": api.whoami()}


def changing(api: kr8s.Api) -> Seen:
    made = configmap(api, "one", color="red")
    made.create()
    made.patch({"data": {"size": "1"}})
    made.label(tier="front")
    found = [each.name for each in api.get("configmaps", label_selector={"tier": "front"})]
    made.delete()
    made.wait("delete", timeout=120)
    try:
        made.refresh()
    except kr8s.NotFoundError:
        return {"data": dict(made.data), "found": found, "gone": not made.exists()}
    return {}


def scaling(api: kr8s.Api) -> Seen:
    made = Deployment(WORKLOAD, api=api)
    made.create()
    made.patch({"spec": {"replicas": 3}})
    made.annotate(note="hello")
    made.refresh()
    seen = {"replicas": made.replicas, "note": made.annotations["note"]}
    made.delete()
    return seen


def watching(api: kr8s.Api) -> Seen:
    made = configmap(api, "watched")
    made.create()
    seen = []
    for event, found in api.watch("configmaps", namespace="default"):
        if found.name != "watched":
            continue
        seen.append(event)
        if event == "ADDED":
            made.patch({"data": {"a": "1"}})
        elif event == "MODIFIED":
            made.delete()
        else:
            break
    return {"events": seen}


def defining(api: kr8s.Api) -> Seen:
    definition = CustomResourceDefinition(DEFINITION, api=api)
    definition.create()
    definition.wait("condition=Established", timeout=120)
    kind = new_class(kind="Gadget", version="kr8s.example.com/v1", plural="gadgets")
    made = kind({"metadata": {"name": "one", "namespace": "default"}, "spec": {"size": 3}}, api=api)
    made.create()
    made.patch({"spec": {"size": 4}})
    (found,) = api.get("gadgets.kr8s.example.com", namespace="default")
    definition.delete()
    return {"size": found.raw["spec"]["size"]}


if __name__ == "__main__":
    api = kr8s.api(kubeconfig=sys.argv[1])
    parts = (looking, changing, scaling, watching, defining)
    sys.stdout.write(json.dumps({part.__name__: part(api) for part in parts}))
