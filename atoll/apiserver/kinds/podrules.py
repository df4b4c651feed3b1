"""The rules of pods and pod templates, in Kubernetes' words: the ones people run into.

A choice, not all of them; what is not checked is taken as it is. Here are containers; what they are
made of has modules of its own: `probes`, `variables`, `volumerules`, `amounts`, `podsecurity`, and
`podsettings` for what a pod says beside them.
"""

from functools import lru_cache

import orjson

from atoll.apiserver.fields.error import (
    Errors,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    named,
    required,
)
from atoll.apiserver.kinds.amounts import resources_errors
from atoll.apiserver.kinds.podsecurity import container_security_errors
from atoll.apiserver.kinds.podsettings import settings_errors
from atoll.apiserver.kinds.probes import probes_errors
from atoll.apiserver.kinds.reading import each, items, part, parts, text
from atoll.apiserver.kinds.rules import (
    chosen,
    if_given,
    in_each,
    one_of,
    port_errors,
    port_name_errors,
    unique,
)
from atoll.apiserver.kinds.variables import are_plain, sources_errors, variable_errors
from atoll.apiserver.kinds.volumerules import mounts_errors, source_errors
from atoll.dialects.kubernetes.names import label_faults
from atoll.wire import Wire

_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_PROTOCOLS = ("SCTP", "TCP", "UDP")


def pod_spec_errors(spec: Wire, path: str) -> Errors:
    """What is wrong with a pod's spec, which stands at this path."""
    return [] if _is_known_right(spec) else _spec_errors(spec, path)


def _spec_errors(spec: Wire, path: str) -> Errors:
    volumes, names = _volumes_errors(spec, f"{path}.volumes")
    yield from volumes
    yield from _containers_errors(spec, path, names)
    if spec.get("hostNetwork"):
        yield from _host_network_errors(spec, path)
    yield from one_of(spec, path, "restartPolicy", RESTART_POLICIES)
    yield from one_of(spec, path, "dnsPolicy", _DNS_POLICIES)
    yield from settings_errors(spec, path)


def _volumes_errors(spec: Wire, path: str) -> tuple[list[FieldError], dict[str, bool]]:
    """What is wrong with the volumes; and of those that are right, which can be devices."""
    errors: list[FieldError] = []
    names: dict[str, bool] = {}
    for volume, where in each(parts(spec, "volumes"), path):
        name = text(volume, "name")
        found = [*source_errors(volume, where), *named(f"{where}.name", name, label_faults)]
        if name in names:
            found.append(duplicate(f"{where}.name", name))
        if not found:
            names[name] = "persistentVolumeClaim" in volume or "ephemeral" in volume
        errors += found
    return errors, names


def _containers_errors(spec: Wire, path: str, volumes: dict[str, bool]) -> Errors:
    containers = parts(spec, "containers")
    if not containers:
        yield required(f"{path}.containers")
        return
    names: set[str] = set()
    for container, where in each(containers, f"{path}.containers"):
        yield from _container_errors(container, where, volumes)
        yield from _name_twice_errors(container, where, names)
        yield from probes_errors(container, where, restarted=True)
    yield from _host_port_errors(containers, f"{path}.containers")
    for container, where in each(parts(spec, "initContainers"), f"{path}.initContainers"):
        yield from _container_errors(container, where, volumes)
        yield from _name_twice_errors(container, where, names)
        sidecar = container.get("restartPolicy") == "Always"
        yield from probes_errors(container, where, restarted=sidecar)


# What clients choose must not make the cache big.
_REMEMBERED_MAX = 8192


def _is_known_right(spec: Wire) -> bool:
    """Whether nothing is wrong with a spec. The same ones come again with every version of a
    workload, and with all that is made of it, but for the variables of their containers."""
    bare: list[Wire] = []
    for container in parts(spec, "containers"):
        variables = container.get("env")
        if variables:
            if not are_plain(variables):
                return False
            container = {key: value for key, value in container.items() if key != "env"}
        bare.append(container)
    written = orjson.dumps({**spec, "containers": bare})
    return len(written) <= _REMEMBERED_MAX and _is_right(written)


@lru_cache(maxsize=512)
def _is_right(written: bytes) -> bool:
    return not any(_spec_errors(orjson.loads(written), ""))


def _name_twice_errors(container: Wire, where: str, names: set[str]) -> Errors:
    name = text(container, "name")
    return unique(names, name, f"{where}.name") if name else []


def _container_errors(container: Wire, where: str, volumes: dict[str, bool]) -> Errors:
    name = text(container, "name")
    yield from named(f"{where}.name", name, label_faults)
    if not text(container, "image").strip():
        yield required(f"{where}.image")
    yield from one_of(container, where, "terminationMessagePolicy", _MESSAGE_POLICIES)
    if container.get("ports"):
        yield from _ports_errors(container, f"{where}.ports")
    yield from in_each(container, where, "env", variable_errors)
    if container.get("envFrom"):
        yield from sources_errors(parts(container, "envFrom"), f"{where}.envFrom")
    if container.get("volumeMounts") or container.get("volumeDevices"):
        yield from mounts_errors(container, where, volumes)
    yield from one_of(container, where, "imagePullPolicy", _PULL_POLICIES)
    yield from resources_errors(part(container, "resources"), f"{where}.resources")
    yield from if_given(container, where, "securityContext", container_security_errors)


def _ports_errors(container: Wire, path: str) -> Errors:
    names: set[str] = set()
    for port, where in each(parts(container, "ports"), path):
        name, number = text(port, "name"), port.get("containerPort")
        if name:
            faults = list(port_name_errors(name, f"{where}.name"))
            yield from faults or unique(names, name, f"{where}.name")
        if not number:
            yield required(f"{where}.containerPort")
        else:
            yield from port_errors(number, f"{where}.containerPort")
        if port.get("hostPort"):
            yield from port_errors(port["hostPort"], f"{where}.hostPort")
        yield from one_of(port, where, "protocol", _PROTOCOLS)


def _host_port_errors(containers: list[Wire], path: str) -> Errors:
    """A port of the node can be given away once."""
    taken = set()
    for container, where in each(containers, path):
        for port, place in each(parts(container, "ports"), f"{where}.ports"):
            if port.get("hostPort"):
                key = f"{text(port, 'protocol')}/{text(port, 'hostIP')}/{port['hostPort']}"
                if key in taken:
                    yield duplicate(f"{place}.hostPort", key)
                taken.add(key)


def _host_network_errors(spec: Wire, path: str) -> Errors:
    why = "must match `containerPort` when `hostNetwork` is true"
    return [
        invalid(f"{place}.hostPort", port["hostPort"], why)
        for container, where in each(parts(spec, "containers"), f"{path}.containers")
        for port, place in each(parts(container, "ports"), f"{where}.ports")
        if port.get("hostPort") and port["hostPort"] != port.get("containerPort")
    ]


def restart_policy_errors(spec: Wire) -> Errors:
    """What is wrong with the restart policy of a template whose pods are to last."""
    if spec.get("restartPolicy") not in RESTART_POLICIES:  # which is told already
        return []
    return chosen(spec, "spec.template.spec", "restartPolicy", ("Always",))


_CHANGEABLE = ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds")
_POD_UPDATE_WHY = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions"
    " to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it"
    " was previously negative)"
)


def pod_update_errors(new: Wire, old: Wire) -> Errors:
    """A pod that exists may get new images and little else."""
    if _lasting(part(new, "spec")) == _lasting(part(old, "spec")):
        return []
    return [forbidden("spec", _POD_UPDATE_WHY)]


def _lasting(spec: Wire) -> Wire:
    """What of a pod's spec may not change; a pod may be given a node, and gates be taken away."""
    kept = {key: value for key, value in spec.items() if key not in _CHANGEABLE}
    for kind in ("containers", "initContainers"):
        if kind in spec:
            kept[kind] = [{**c, "image": ""} for c in items(spec, kind) if isinstance(c, dict)]
    kept.pop("nodeName", None)
    kept.pop("schedulingGates", None)
    return kept
