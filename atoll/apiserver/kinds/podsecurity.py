"""Security contexts of pods and containers: as whom they run, and what they may do."""

import re

from atoll.apiserver.fields.error import Errors, invalid, named, not_supported, required
from atoll.apiserver.kinds.reading import each, items, parts, text
from atoll.apiserver.kinds.rules import if_given, in_go, in_range, one_of
from atoll.wire import Wire

_ID_MAX = 2147483647
_ID_WHY = f"must be between 0 and {_ID_MAX}, inclusive"
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_GROUP_CHANGES = ("Always", "OnRootMismatch")
_PROC_MOUNTS = ("Default", "Unmasked")
_SYSCTL_PATTERN = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = re.compile(_SYSCTL_PATTERN)
_SYSCTL_WHY = f"must have at most 253 characters and match regex ^{_SYSCTL_PATTERN}$"


def pod_security_errors(context: Wire, where: str) -> Errors:
    yield from _id_errors(context, where, "fsGroup", "runAsUser", "runAsGroup")
    for index, group in enumerate(items(context, "supplementalGroups")):
        if not 0 <= group <= _ID_MAX:
            yield invalid(f"{where}.supplementalGroups[{index}]", group, _ID_WHY)
    for setting, place in each(parts(context, "sysctls"), f"{where}.sysctls"):
        yield from named(f"{place}.name", text(setting, "name"), _sysctl_faults)
    yield from one_of(context, where, "fsGroupChangePolicy", _GROUP_CHANGES)
    yield from if_given(context, where, "seccompProfile", _seccomp_errors)
    yield from if_given(context, where, "appArmorProfile", _apparmor_errors)


def _sysctl_faults(name: str) -> list[str]:
    return [] if len(name) <= 253 and _SYSCTL.fullmatch(name) else [_SYSCTL_WHY]


def container_security_errors(context: Wire, where: str) -> Errors:
    yield from _id_errors(context, where, "runAsUser", "runAsGroup")
    yield from one_of(context, where, "procMount", _PROC_MOUNTS)
    yield from if_given(context, where, "seccompProfile", _seccomp_errors)
    if context.get("allowPrivilegeEscalation") is False:
        limit = "cannot set `allowPrivilegeEscalation` to false and"
        if context.get("privileged"):
            yield invalid(where, _go(context), f"{limit} `privileged` to true")
        if "CAP_SYS_ADMIN" in items(context, "capabilities", "add"):
            yield invalid(where, _go(context), f"{limit} `capabilities.Add` CAP_SYS_ADMIN")
    yield from if_given(context, where, "appArmorProfile", _apparmor_errors)


def _id_errors(context: Wire, where: str, *keys: str) -> Errors:
    for key in keys:
        yield from in_range(context, where, key, _ID_WHY, most=_ID_MAX)


def _seccomp_errors(profile: Wire, where: str) -> Errors:
    if not text(profile, "type"):
        return [required(f"{where}.type", "type is required when seccompProfile is set")]
    return _profile_errors(profile, where, "seccomp")


def _apparmor_errors(profile: Wire, where: str) -> Errors:
    return _profile_errors(profile, where, "AppArmor")


def _profile_errors(profile: Wire, where: str, sort: str) -> Errors:
    kind, local = text(profile, "type"), profile.get("localhostProfile")
    if kind not in _PROFILES:
        return [not_supported(f"{where}.type", kind, _PROFILES)]
    if kind == "Localhost" and local is None:
        return [required(f"{where}.localhostProfile", f"must be set when {sort} type is Localhost")]
    if kind != "Localhost" and local is not None:
        why = f"can only be set when {sort} type is Localhost"
        return [invalid(f"{where}.localhostProfile", local, why)]
    return []


def _go(context: Wire) -> Wire:
    """A context as Kubernetes shows it in messages: by the names inside the program."""
    names = (
        *("capabilities", "privileged", "seLinuxOptions", "windowsOptions", "runAsUser"),
        *("runAsGroup", "runAsNonRoot", "readOnlyRootFilesystem", "allowPrivilegeEscalation"),
        *("procMount", "seccompProfile", "appArmorProfile"),
    )
    own = {"seLinuxOptions": "SELinuxOptions"}
    return {own.get(name, in_go(name)): context.get(name) for name in names}
