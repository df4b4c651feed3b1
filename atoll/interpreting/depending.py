"""What an object needs beside it in a member: configuration, secrets, accounts, claims.

A template comes in, references go out, each once, in a fixed order. Whether the objects referred
to exist is not known here. Services are no dependencies: they find their pods, not the reverse.
"""

from collections.abc import Iterable, Iterator

from atoll.dialects.wire import at, part, parts, text
from atoll.interpreting.fields import inner
from atoll.interpreting.kinds import CLAIM, SECRET, SERVICE, SERVICE_ACCOUNT, Kind, named, pod_spec
from atoll.interpreting.operations import Dependency
from atoll.wire import Object

CONFIG_MAP: Kind = ("v1", "ConfigMap")
ENDPOINT_SLICE: Kind = ("discovery.k8s.io/v1", "EndpointSlice")
DERIVED_PREFIX = "derived-"
SERVICE_NAME = "kubernetes.io/service-name"

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_ORDER = (CONFIG_MAP, SECRET, SERVICE_ACCOUNT, CLAIM)
_SECRET_IN_VOLUME = {
    "azureFile": ("secretName",),
    "cephfs": ("secretRef", "name"),
    "cinder": ("secretRef", "name"),
    "csi": ("nodePublishSecretRef", "name"),
    "flexVolume": ("secretRef", "name"),
    "iscsi": ("secretRef", "name"),
    "rbd": ("secretRef", "name"),
    "scaleIO": ("secretRef", "name"),
    "secret": ("secretName",),
    "storageos": ("secretRef", "name"),
}
Needed = Iterator[tuple[Kind, str]]


def of_pods(template: Object) -> tuple[Dependency, ...]:
    """What the pods of a template refer to."""
    path, spec = pod_spec(template)
    return _sorted(template, set(_of_pod(spec, path)))


def needing(
    template: Object,
    specs: Iterable[tuple[str, Object]] = (),
    names: Iterable[tuple[Kind, str]] = (),
) -> tuple[Dependency, ...]:
    """What pods of these specs refer to, each with its path, and these objects by name."""
    found = {each for path, spec in specs for each in _of_pod(spec, path)}
    return _sorted(template, found.union(names))


def of_stateful_set(template: Object) -> tuple[Dependency, ...]:
    """What its pods refer to, but for the claims that it makes itself."""
    spec = inner(template, "spec")
    made = {
        text(part(each, "metadata", here) or {}, "name", at(here, "metadata"))
        for here, each in parts(spec, "volumeClaimTemplates", "spec")
    }
    found = of_pods(template)
    return tuple(each for each in found if each.kind != CLAIM[1] or each.name not in made)


def of_ingress(template: Object) -> tuple[Dependency, ...]:
    """The secrets it takes its certificates from."""
    listed = parts(inner(template, "spec"), "tls", "spec")
    return _sorted(template, {(SECRET, text(each, "secretName", here)) for here, each in listed})


def of_service_import(template: Object) -> tuple[Dependency, ...]:
    """The service derived from it, and its endpoints."""
    derived, namespace = DERIVED_PREFIX + named(template, "name"), named(template, "namespace")
    selector = {"matchLabels": {SERVICE_NAME: derived}}
    return (
        Dependency(*SERVICE, namespace, derived),
        Dependency(*ENDPOINT_SLICE, namespace, selector=selector),
    )


def _sorted(template: Object, needed: set[tuple[Kind, str]]) -> tuple[Dependency, ...]:
    namespace = named(template, "namespace")
    in_order = sorted(needed, key=lambda each: (_ORDER.index(each[0]), each[1]))
    return tuple(Dependency(*kind, namespace, name) for kind, name in in_order if name)


def _of_pod(spec: Object, path: str) -> Needed:
    for here, each in parts(spec, "imagePullSecrets", path):
        yield SECRET, text(each, "name", here)
    for key in _CONTAINERS:
        for here, each in parts(spec, key, path):
            yield from _of_container(each, here)
    for here, each in parts(spec, "volumes", path):
        yield from _of_volume(each, here)
    account = text(spec, "serviceAccountName", path)
    yield SERVICE_ACCOUNT, "" if account == "default" else account


def _of_container(container: Object, path: str) -> Needed:
    for here, each in parts(container, "envFrom", path):
        yield CONFIG_MAP, _name(each, ("configMapRef", "name"), here)
        yield SECRET, _name(each, ("secretRef", "name"), here)
    for here, each in parts(container, "env", path):
        yield CONFIG_MAP, _name(each, ("valueFrom", "configMapKeyRef", "name"), here)
        yield SECRET, _name(each, ("valueFrom", "secretKeyRef", "name"), here)


def _of_volume(volume: Object, path: str) -> Needed:
    yield CONFIG_MAP, _name(volume, ("configMap", "name"), path)
    yield CLAIM, _name(volume, ("persistentVolumeClaim", "claimName"), path)
    for source, keys in _SECRET_IN_VOLUME.items():
        yield SECRET, _name(volume, (source, *keys), path)
    projected = part(volume, "projected", path) or {}
    for here, each in parts(projected, "sources", at(path, "projected")):
        yield CONFIG_MAP, _name(each, ("configMap", "name"), here)
        yield SECRET, _name(each, ("secret", "name"), here)


def _name(wire: Object, keys: tuple[str, ...], path: str) -> str:
    """The name at this path below; empty if nothing is referred to."""
    *way, last = keys
    for key in way:
        found = part(wire, key, path)
        if found is None:
            return ""
        wire, path = found, at(path, key)
    return text(wire, last, path)
