"""Objects for tests, as small as the API takes them."""

from typing import Any

from atoll.wire import Wire


def configmap(name: str, labels: dict[str, str] | None = None, **data: str) -> Wire:
    metadata: Wire = {"name": name}
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def deployment(name: str, replicas: int = 1, **container: Any) -> Wire:
    pod = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": "nginx:1.0", **container}]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": pod}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": spec,
    }


def lease(name: str, **spec: Any) -> Wire:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name},
        "spec": spec,
    }


def event(name: str, namespace: str, **more: Any) -> Wire:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name},
        "involvedObject": {"kind": "Pod", "namespace": namespace, "name": "p"},
        "reason": "Started",
        "message": "it runs",
        "type": "Normal",
        **more,
    }


def definition(kind: str, group: str, spec_schema: Wire, **more: Any) -> Wire:
    """A namespaced CRD of one version; `more` goes into that version."""
    plural = f"{kind.lower()}s"
    schema = {
        "type": "object",
        "properties": {
            "spec": spec_schema,
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        **more,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural, "shortNames": [kind.lower()[:2]]},
            "scope": "Namespaced",
            "versions": [version],
        },
    }
