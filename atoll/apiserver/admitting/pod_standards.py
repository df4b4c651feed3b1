"""The Pod Security Standards: what a pod may not have, at each level of strictness.

A pod's spec and annotations come in; what is wrong goes out, in the words and in the order of
Kubernetes. The rules are those of the newest version, whichever one a namespace has asked for. Here
are those of the level `restricted`; it takes over most of `pod_baseline`.
"""

from atoll.apiserver.admitting.pod_baseline import (
    BASELINE,
    Check,
    Fault,
    added,
    capabilities,
    host_paths,
    named,
    seccomp,
    setters,
    several,
    uses,
)
from atoll.apiserver.kinds.reading import items, part, parts, text
from atoll.wire import Wire

_VOLUMES = frozenset(
    [
        *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image"),
        *("persistentVolumeClaim", "projected", "secret"),
    ]
)


def faults(spec: Wire, annotations: Wire, level: str) -> list[Fault]:
    """All that is wrong with a pod at a level."""
    checks = {"baseline": BASELINE, "restricted": _RESTRICTED}.get(level, ())
    return [fault for check in checks if (fault := check(spec, annotations)) is not None]


def _on_windows(spec: Wire) -> bool:
    return text(spec, "os", "name") == "windows"


def _escalation(spec: Wire, _: Wire) -> Fault | None:
    bad = named(spec, lambda context: context.get("allowPrivilegeEscalation") is not False)
    if not bad or _on_windows(spec):
        return None
    why = "must set securityContext.allowPrivilegeEscalation=false"
    return "allowPrivilegeEscalation != false", f"{several('container', bad)} {why}"


def _dropped(spec: Wire, _: Wire) -> Fault | None:
    missing = named(spec, lambda context: "ALL" not in items(context, "capabilities", "drop"))
    why = 'must set securityContext.capabilities.drop=["ALL"]'
    told = [f"{several('container', missing)} {why}"] if missing else []
    told += [more] if (more := added(spec, {"NET_BIND_SERVICE"})) else []
    said = told and not _on_windows(spec)
    return ("unrestricted capabilities", "; ".join(told)) if said else None


def _volumes(spec: Wire, _: Wire) -> Fault | None:
    bad, kinds = [], set()
    for volume in parts(spec, "volumes"):
        sources = [key for key in volume if key != "name" and volume[key] is not None]
        if not _VOLUMES.intersection(sources):
            bad.append(text(volume, "name"))
            kinds.add(sources[0] if sources else "unknown")
    if not bad:
        return None
    what = several("restricted volume type", sorted(kinds))
    return "restricted volume types", f"{several('volume', bad)} {uses(bad)} {what}"


def _not_root(spec: Wire, _: Wire) -> Fault | None:
    wish = part(spec, "securityContext").get("runAsNonRoot")
    said = named(spec, lambda context: context.get("runAsNonRoot") is False)
    silent = named(spec, lambda context: context.get("runAsNonRoot") is None and wish is not True)
    if spec.get("hostUsers") is False or not (said or silent or wish is False):
        return None
    reason = "runAsNonRoot != true"
    if said or wish is False:
        who = setters(pod=wish is False, containers=said)
        return reason, f"{who} must not set securityContext.runAsNonRoot=false"
    who = several("container", silent)
    return reason, f"pod or {who} must set securityContext.runAsNonRoot=true"


def _no_root_user(spec: Wire, _: Wire) -> Fault | None:
    pod = part(spec, "securityContext").get("runAsUser") == 0
    bad = named(spec, lambda context: context.get("runAsUser") == 0)
    if spec.get("hostUsers") is False or not (pod or bad):
        return None
    return "runAsUser=0", f"{setters(pod=pod, containers=bad)} must not set runAsUser=0"


def _seccomp_set(spec: Wire, notes: Wire) -> Fault | None:
    """The same as `seccomp`, and a profile must be set."""
    if _on_windows(spec):
        return None
    found = seccomp(spec, notes)
    if found is not None or text(spec, "securityContext", "seccompProfile", "type"):
        return found
    silent = named(spec, lambda context: not text(context, "seccompProfile", "type"))
    if not silent:
        return None
    why = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return "seccompProfile", f"pod or {several('container', silent)} {why}"


_RESTRICTED: tuple[Check, ...] = (
    *(each for each in BASELINE if each not in (capabilities, host_paths, seccomp)),
    _escalation,
    _dropped,
    _volumes,
    _not_root,
    _no_root_user,
    _seccomp_set,
)
