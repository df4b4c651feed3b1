"""Fields of a member's object that are the member's own: kept when the object is written anew.

What is desired and what was observed come in; what to write goes out. Fields that no kind is
special about (resourceVersion, labels others added) are the business of whoever applies it.
"""

from typing import Any

from atoll.dialects.karmada.names import RETAIN_REPLICAS
from atoll.dialects.wire import flag, number, part, parts, text, text_by_name
from atoll.interpreting.fields import inner, replaced, without
from atoll.interpreting.pruning import TOKEN
from atoll.wire import Object


def replicas(desired: Object, observed: Object) -> Object:
    """The number of replicas, where a label says that the member scales by itself."""
    labels = text_by_name(inner(desired, "metadata"), "labels", "metadata")
    found = number(inner(observed, "spec"), "replicas", "spec")
    if labels.get(RETAIN_REPLICAS) != "true" or found is None:
        return desired
    return replaced(desired, ("spec", "replicas"), found)


def pod(desired: Object, observed: Object) -> Object:
    """Where it runs, as whom, and its volumes: all of it filled in by the member."""
    seen = inner(observed, "spec")
    own = ("nodeName", "serviceAccountName", "volumes")
    spec = {
        **without(inner(desired, "spec"), own),
        **{key: seen[key] for key in own if seen.get(key)},
    }
    for key in ("containers", "initContainers"):
        if spec.get(key):
            spec[key] = _mounted(spec, seen, key)
    return {**desired, "spec": spec}


def _mounted(desired: Object, observed: Object, key: str) -> list[Object]:
    mounts = {
        text(each, "name", here): each.get("volumeMounts")
        for here, each in parts(observed, key, "spec")
    }
    return [
        _with_mounts(each, mounts[name]) if (name := text(each, "name", here)) in mounts else each
        for here, each in parts(desired, key, "spec")
    ]


def _with_mounts(container: Object, mounts: Any) -> Object:
    rest = without(container, ("volumeMounts",))
    return {**rest, "volumeMounts": mounts} if mounts else rest


def service(desired: Object, observed: Object) -> Object:
    """Its addresses and the ports on nodes that the member gave it, as far as still of use.

    Karmada keeps addresses even for a service that stops having any, which members then refuse.
    """
    spec, seen = inner(desired, "spec"), inner(observed, "spec")
    sort = text(spec, "type", "spec") or "ClusterIP"
    kept: dict[str, Any] = {}
    if sort != "ExternalName" and text(seen, "clusterIP", "spec"):
        kept = {key: seen[key] for key in ("clusterIP", "clusterIPs") if seen.get(key)}
    local = text(spec, "externalTrafficPolicy", "spec") == "Local"
    check = number(seen, "healthCheckNodePort", "spec")
    if check and sort == "LoadBalancer" and local:
        kept["healthCheckNodePort"] = check
    allocates = flag(spec, "allocateLoadBalancerNodePorts", "spec", default=True)
    if spec.get("ports") and (sort == "NodePort" or (sort == "LoadBalancer" and allocates)):
        kept["ports"] = _with_node_ports(spec, seen)
    return {**desired, "spec": {**spec, **kept}} if kept else desired


def _with_node_ports(spec: Object, seen: Object) -> list[Object]:
    """Ports that name no port on nodes get the one they have in the member."""
    given = {
        _port(each, here): number(each, "nodePort", here)
        for here, each in parts(seen, "ports", "spec")
    }
    # A port that one entry asks for by name cannot be kept by another.
    asked = {number(each, "nodePort", here) for here, each in parts(spec, "ports", "spec")}
    filled: list[Object] = []
    for here, each in parts(spec, "ports", "spec"):
        had = given.get(_port(each, here))
        free = had and had not in asked and not each.get("nodePort")
        filled.append({**each, "nodePort": had} if free else each)
    return filled


def _port(wire: Object, path: str) -> tuple[int | None, str]:
    return number(wire, "port", path), text(wire, "protocol", path) or "TCP"


def service_account(desired: Object, observed: Object) -> Object:
    """Its secrets: those desired, and those the member added."""
    for key in ("secrets", "imagePullSecrets"):
        merged = {text(each, "name", here): each for here, each in parts(observed, key, "")}
        wanted = {text(each, "name", here): each for here, each in parts(desired, key, "")}
        if merged:
            desired = {**desired, key: list((wanted | (merged | wanted)).values())}
    return desired


def claim(desired: Object, observed: Object) -> Object:
    """The volume it is bound to, and the class the member gave it where none is asked for."""
    there = inner(observed, "spec")
    kind = text(there, "storageClassName", "spec")
    if kind and inner(desired, "spec").get("storageClassName") is None:
        desired = replaced(desired, ("spec", "storageClassName"), kind)
    bound = text(there, "volumeName", "spec")
    return replaced(desired, ("spec", "volumeName"), bound) if bound else desired


def volume(desired: Object, observed: Object) -> Object:
    """The claim it is bound to."""
    bound = part(inner(observed, "spec"), "claimRef", "spec")
    return desired if bound is None else replaced(desired, ("spec", "claimRef"), bound)


def job(desired: Object, observed: Object) -> Object:
    """The labels by which it finds its pods, which the member made up."""
    for keys in (("spec", "selector", "matchLabels"), ("spec", "template", "metadata", "labels")):
        *way, last = keys
        labels = text_by_name(inner(observed, *way), last, ".".join(way))
        if labels:
            desired = replaced(desired, keys, dict(labels))
    return desired


def secret(desired: Object, observed: Object) -> Object:
    """The token of a service account, which the member made."""
    data = part(observed, "data", "")
    is_token = text(desired, "type", "") == TOKEN
    return {**desired, "data": data} if is_token and data is not None else desired
