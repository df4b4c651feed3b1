"""Security contexts of pods and containers: as whom they run, and what they may do."""

import re

from atoll.apiserver.fields.error import Errors, invalid, not_supported, required
from atoll.apiserver.kinds.reading import Object, each, given, items, parts, text

_ID_MAX = 2147483647
_ID_WHY = f"must be between 0 and {_ID_MAX}, inclusive"
_SECCOMP = ("Localhost", "RuntimeDefault", "Unconfined")
_GROUP_CHANGES = ("Always", "OnRootMismatch")
_PROC_MOUNTS = ("Default", "Unmasked")
_SYSCTL_PATTERN = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = re.compile(_SYSCTL_PATTERN)
_SYSCTL_WHY = f"must have at most 253 characters and match regex ^{_SYSCTL_PATTERN}$"


def pod_security_errors(context: Object, where: str) -> Errors:
    yield from _id_errors(context, where, "fsGroup", "runAsUser", "runAsGroup")
    for index, group in enumerate(items(context, "supplementalGroups")):
        if not 0 <= group <= _ID_MAX:
            yield invalid(f"{where}.supplementalGroups[{index}]", group, _ID_WHY)
    for setting, place in each(parts(context, "sysctls"), f"{where}.sysctls"):
        name = text(setting, "name")
        if not name:
            yield required(f"{place}.name")
        elif len(name) > 253 or not _SYSCTL.fullmatch(name):
            yield invalid(f"{place}.name", name, _SYSCTL_WHY)
    change = context.get("fsGroupChangePolicy")
    if change is not None and change not in _GROUP_CHANGES:
        yield not_supported(f"{where}.fsGroupChangePolicy", change, _GROUP_CHANGES)
    yield from _profile_errors(context, where)


def container_security_errors(context: Object, where: str) -> Errors:
    yield from _id_errors(context, where, "runAsUser", "runAsGroup")
    mount = context.get("procMount")
    if mount is not None and mount not in _PROC_MOUNTS:
        yield not_supported(f"{where}.procMount", mount, _PROC_MOUNTS)
    yield from _seccomp_errors(context, where)
    if context.get("allowPrivilegeEscalation") is False:
        limit = "cannot set `allowPrivilegeEscalation` to false and"
        if context.get("privileged"):
            yield invalid(where, _go(context), f"{limit} `privileged` to true")
        if "CAP_SYS_ADMIN" in items(context, "capabilities", "add"):
            yield invalid(where, _go(context), f"{limit} `capabilities.Add` CAP_SYS_ADMIN")
    yield from _apparmor_errors(context, where)


def _id_errors(context: Object, where: str, *keys: str) -> Errors:
    return [
        invalid(f"{where}.{key}", context[key], _ID_WHY)
        for key in keys
        if isinstance(context.get(key), int) and not 0 <= context[key] <= _ID_MAX
    ]


def _profile_errors(context: Object, where: str) -> Errors:
    yield from _seccomp_errors(context, where)
    yield from _apparmor_errors(context, where)


def _seccomp_errors(context: Object, where: str) -> Errors:
    profile = given(context, "seccompProfile")
    if profile is None:
        return []
    place, kind = f"{where}.seccompProfile", text(profile, "type")
    if kind not in _SECCOMP:
        known = kind or None
        if known is None:
            return [required(f"{place}.type", "type is required when seccompProfile is set")]
        return [not_supported(f"{place}.type", kind, _SECCOMP)]
    local = profile.get("localhostProfile")
    if kind == "Localhost" and local is None:
        return [required(f"{place}.localhostProfile", "must be set when seccomp type is Localhost")]
    if kind != "Localhost" and local is not None:
        why = "can only be set when seccomp type is Localhost"
        return [invalid(f"{place}.localhostProfile", local, why)]
    return []


def _apparmor_errors(context: Object, where: str) -> Errors:
    profile = given(context, "appArmorProfile")
    if profile is None:
        return []
    place, kind = f"{where}.appArmorProfile", text(profile, "type")
    local = profile.get("localhostProfile")
    if kind == "Localhost" and local is None:
        why = "must be set when AppArmor type is Localhost"
        return [required(f"{place}.localhostProfile", why)]
    if kind in ("RuntimeDefault", "Unconfined") and local is not None:
        why = "can only be set when AppArmor type is Localhost"
        return [invalid(f"{place}.localhostProfile", local, why)]
    if kind not in _SECCOMP:
        return [not_supported(f"{place}.type", kind, _SECCOMP)]
    return []


def _go(context: Object) -> Object:
    """A context as Kubernetes shows it in messages: by the names inside the program."""
    names = (
        "capabilities",
        "privileged",
        "seLinuxOptions",
        "windowsOptions",
        "runAsUser",
        "runAsGroup",
        "runAsNonRoot",
        "readOnlyRootFilesystem",
        "allowPrivilegeEscalation",
        "procMount",
        "seccompProfile",
        "appArmorProfile",
    )
    own = {"seLinuxOptions": "SELinuxOptions"}
    return {own.get(name, name[0].upper() + name[1:]): context.get(name) for name in names}
