"""The rules of pods and pod templates, in Kubernetes' words: the ones people run into.

A compact choice, not all of them: names, images, ports, environment, mounts, requests and limits,
policies. What is not checked here is taken as it is.
"""

import re

from atoll.apiserver.fields.error import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from atoll.apiserver.kinds.reading import Object, each, items, part, parts, text
from atoll.apiserver.kinds.rules import one_of, port_errors, port_name_errors
from atoll.dialects.kubernetes.names import label_faults
from atoll.model.quantity import parse

_ENV_NAME = re.compile("[ -<>-~]+")
_ENV_NAME_WHY = (
    "a valid environment variable name must consist only of printable ASCII characters"
    " other than '='"
)
_DEADLINE_MAX = 2147483647
RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_PROTOCOLS = ("SCTP", "TCP", "UDP")


def pod_spec_errors(spec: Object, path: str) -> list[FieldError]:
    volumes, names = _volume_errors(spec, f"{path}.volumes")
    errors = volumes + _containers_errors(spec, path, names)
    errors += one_of(spec, path, "restartPolicy", RESTART_POLICIES)
    deadline = spec.get("activeDeadlineSeconds")
    if isinstance(deadline, int) and not 1 <= deadline <= _DEADLINE_MAX:
        why = f"must be between 1 and {_DEADLINE_MAX}, inclusive"
        errors.append(invalid(f"{path}.activeDeadlineSeconds", deadline, why))
    return errors + one_of(spec, path, "dnsPolicy", _DNS_POLICIES)


def _volume_errors(spec: Object, path: str) -> tuple[list[FieldError], set[str]]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for volume, where in each(parts(spec, "volumes"), path):
        name = text(volume, "name")
        found = _source_errors(volume, where)
        if not name:
            found.append(required(f"{where}.name"))
        elif reasons := label_faults(name):
            found += [invalid(f"{where}.name", name, reason) for reason in reasons]
        elif name in names:
            found.append(duplicate(f"{where}.name", name))
        if not found:
            names.add(name)
        errors += found
    return errors, names


def _source_errors(volume: Object, where: str) -> list[FieldError]:
    sources = [key for key in volume if key != "name" and volume[key] is not None]
    why = "may not specify more than 1 volume type"
    return [forbidden(f"{where}.{key}", why) for key in sorted(sources)[1:]]


def _containers_errors(spec: Object, path: str, volumes: set[str]) -> list[FieldError]:
    if not parts(spec, "containers"):
        return [required(f"{path}.containers")]
    errors: list[FieldError] = []
    names: set[str] = set()
    for kind in ("containers", "initContainers"):
        for container, where in each(parts(spec, kind), f"{path}.{kind}"):
            errors += _name_errors(container, where, names)
            errors += _container_errors(container, where, volumes)
    return errors


def _name_errors(container: Object, where: str, names: set[str]) -> list[FieldError]:
    name = text(container, "name")
    if not name:
        return [required(f"{where}.name")]
    if reasons := label_faults(name):
        return [invalid(f"{where}.name", name, reason) for reason in reasons]
    if name in names:
        return [duplicate(f"{where}.name", name)]
    names.add(name)
    return []


def _container_errors(container: Object, where: str, volumes: set[str]) -> list[FieldError]:
    errors = [] if text(container, "image").strip() else [required(f"{where}.image")]
    policies = ("File", "FallbackToLogsOnError")
    errors += one_of(container, where, "terminationMessagePolicy", policies)
    for port, place in each(parts(container, "ports"), f"{where}.ports"):
        errors += _port_errors(port, place)
    for variable, place in each(parts(container, "env"), f"{where}.env"):
        errors += _env_errors(variable, place)
    for mount, place in each(parts(container, "volumeMounts"), f"{where}.volumeMounts"):
        errors += _mount_errors(mount, place, volumes)
    errors += one_of(container, where, "imagePullPolicy", _PULL_POLICIES)
    return errors + resource_errors(part(container, "resources"), f"{where}.resources")


def _port_errors(port: Object, where: str) -> list[FieldError]:
    name, number = text(port, "name"), port.get("containerPort")
    errors = port_name_errors(name, f"{where}.name") if name else []
    if not number:
        errors.append(required(f"{where}.containerPort"))
    else:
        errors += port_errors(number, f"{where}.containerPort")
    if port.get("hostPort"):
        errors += port_errors(port["hostPort"], f"{where}.hostPort")
    return errors + one_of(port, where, "protocol", _PROTOCOLS)


def _env_errors(variable: Object, where: str) -> list[FieldError]:
    name = text(variable, "name")
    if not name:
        return [required(f"{where}.name")]
    if not _ENV_NAME.fullmatch(name):
        return [invalid(f"{where}.name", name, _ENV_NAME_WHY)]
    return []


def _mount_errors(mount: Object, where: str, volumes: set[str]) -> list[FieldError]:
    errors = []
    name = text(mount, "name")
    if not name:
        errors.append(required(f"{where}.name"))
    elif name not in volumes:
        errors.append(FieldError("FieldValueNotFound", f"{where}.name", name, ""))
    if not text(mount, "mountPath"):
        errors.append(required(f"{where}.mountPath"))
    return errors


def resource_errors(resources: Object, path: str) -> list[FieldError]:
    """Requests may not be above limits, and neither below zero."""
    limits, requests = part(resources, "limits"), part(resources, "requests")
    errors = quantity_errors(limits, f"{path}.limits")
    errors += quantity_errors(requests, f"{path}.requests")
    for name, asked in sorted(requests.items()):
        amount, limit = parse(asked), parse(limits.get(name))
        if amount is not None and limit is not None and amount > limit:
            why = f"must be less than or equal to {name} limit of {limits[name]}"
            errors.append(invalid(f"{path}.requests", asked, why))
    return errors


def quantity_errors(amounts: Object, path: str) -> list[FieldError]:
    return [
        invalid(f"{path}[{name}]", amount, "must be greater than or equal to 0")
        for name, amount in sorted(amounts.items())
        if (value := parse(amount)) is not None and value < 0
    ]


def restart_policy_errors(spec: Object, path: str, allowed: tuple[str, ...]) -> list[FieldError]:
    """A template's restart policy, of which workloads allow only some."""
    policy = spec.get("restartPolicy")
    if policy in allowed or policy not in RESTART_POLICIES:  # the latter is told already
        return []
    return [not_supported(f"{path}.restartPolicy", policy, allowed)]


_CHANGEABLE = ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds")
_POD_UPDATE_WHY = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions"
    " to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it"
    " was previously negative)"
)


def pod_update_errors(new: Object, old: Object) -> list[FieldError]:
    """A pod that exists may get new images and little else."""
    if _lasting(part(new, "spec")) == _lasting(part(old, "spec")):
        return []
    return [forbidden("spec", _POD_UPDATE_WHY)]


def _lasting(spec: Object) -> Object:
    """What of a pod's spec may not change; a pod may be given a node, and gates be taken away."""
    kept = {key: value for key, value in spec.items() if key not in _CHANGEABLE}
    for kind in ("containers", "initContainers"):
        if kind in spec:
            kept[kind] = [{**c, "image": ""} for c in items(spec, kind) if isinstance(c, dict)]
    kept.pop("nodeName", None)
    kept.pop("schedulingGates", None)
    return kept
