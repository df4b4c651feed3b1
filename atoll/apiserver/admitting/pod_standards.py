"""The Pod Security Standards: what a pod may not have, at each level of strictness.

A pod's spec and annotations come in; what is wrong goes out, in the words and in the order of
Kubernetes. The rules are those of the newest version, whichever one a namespace has asked for.
"""

from collections.abc import Callable, Iterator
from typing import Any

from atoll.apiserver.kinds.reading import items, part, parts, text

Object = dict[str, Any]
Fault = tuple[str, str]  # the rule in short, and what breaks it
Check = Callable[[Object, Object], Fault | None]

_LISTS = ("initContainers", "containers", "ephemeralContainers")
_CAPABILITIES = frozenset(
    [
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    ]
)
_SYSCTLS = frozenset(
    [
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.tcp_wmem",
    ]
)
_SELINUX = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_VOLUMES = frozenset(
    [
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    ]
)
_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def faults(spec: Object, annotations: Object, level: str) -> list[Fault]:
    """All that is wrong with a pod at a level."""
    checks = {"baseline": _BASELINE, "restricted": _RESTRICTED}.get(level, ())
    return [fault for check in checks if (fault := check(spec, annotations)) is not None]


def _containers(spec: Object) -> Iterator[tuple[str, Object, Object]]:
    """Every container with its name and its security context."""
    for kind in _LISTS:
        for one in parts(spec, kind):
            yield text(one, "name"), one, part(one, "securityContext")


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _several(word: str, names: list[str]) -> str:
    return f"{word if len(names) == 1 else word + 's'} {_quoted(names)}"


def _setters(*, pod: bool, containers: list[str]) -> str:
    """Who has set something: the pod, containers, or both."""
    every = ["pod"] if pod else []
    return " and ".join([*every, *([_several("container", containers)] if containers else [])])


def _host_namespaces(spec: Object, _: Object) -> Fault | None:
    told = [f"{key}=true" for key in ("hostNetwork", "hostPID", "hostIPC") if spec.get(key)]
    return ("host namespaces", ", ".join(told)) if told else None


def _host_paths(spec: Object, _: Object) -> Fault | None:
    bad = [text(one, "name") for one in parts(spec, "volumes") if one.get("hostPath") is not None]
    return ("hostPath volumes", _several("volume", bad)) if bad else None


def _host_ports(spec: Object, _: Object) -> Fault | None:
    bad, ports = [], set()
    for name, container, _context in _containers(spec):
        there = {str(one["hostPort"]) for one in parts(container, "ports") if one.get("hostPort")}
        ports |= there
        bad += [name] if there else []
    if not bad:
        return None
    word = "hostPort" if len(ports) == 1 else "hostPorts"
    return (
        "hostPort",
        f"{_several('container', bad)} {_uses(bad)} {word} {', '.join(sorted(ports))}",
    )


def _uses(names: list[str]) -> str:
    return "uses" if len(names) == 1 else "use"


def _host_probes(spec: Object, _: Object) -> Fault | None:
    bad, hosts = set(), set()
    for name, container, _context in _containers(spec):
        handlers = [part(container, probe) for probe in _PROBES]
        handlers += [part(container, "lifecycle", when) for when in ("postStart", "preStop")]
        for handler in handlers:
            for kind in ("httpGet", "tcpSocket"):
                if host := text(handler, kind, "host"):
                    bad.add(name)
                    hosts.add(host)
    if not bad:
        return None
    names, found = sorted(bad), sorted(hosts)
    what = _several("probe or lifecycle host", found)
    return "probe or lifecycle host", f"{_several('container', names)} {_uses(names)} {what}"


def _privileged(spec: Object, _: Object) -> Fault | None:
    bad = [name for name, _one, context in _containers(spec) if context.get("privileged")]
    why = "must not set securityContext.privileged=true"
    return ("privileged", f"{_several('container', bad)} {why}") if bad else None


def _capabilities(spec: Object, _: Object) -> Fault | None:
    bad, more = [], set()
    for name, _one, context in _containers(spec):
        extra = set(items(context, "capabilities", "add")) - _CAPABILITIES
        more |= extra
        bad += [name] if extra else []
    if not bad:
        return None
    why = f"must not include {_quoted(sorted(more))} in securityContext.capabilities.add"
    return "non-default capabilities", f"{_several('container', bad)} {why}"


def _proc_mount(spec: Object, _: Object) -> Fault | None:
    bad = {
        name: mount
        for name, _one, context in _containers(spec)
        if (mount := text(context, "procMount")) not in ("", "Default")
    }
    if not bad or spec.get("hostUsers") is False:
        return None
    kinds = _quoted(sorted(set(bad.values())))
    why = f"must not set securityContext.procMount to {kinds}"
    return "procMount", f"{_several('container', list(bad))} {why}"


def _seccomp(spec: Object, _: Object) -> Fault | None:
    """A profile that is no profile, set by the pod or by a container."""
    kinds: set[str] = set()
    pod = text(spec, "securityContext", "seccompProfile", "type")
    is_bad = pod not in ("", *_PROFILES)
    kinds |= {pod} if is_bad else set()
    bad = []
    for name, _one, context in _containers(spec):
        kind = text(context, "seccompProfile", "type")
        if kind not in ("", *_PROFILES):
            bad.append(name)
            kinds.add(kind)
    if not kinds:
        return None
    who = _setters(pod=is_bad, containers=bad)
    why = f"must not set securityContext.seccompProfile.type to {_quoted(sorted(kinds))}"
    return "seccompProfile", f"{who} {why}"


_PROFILES = ("RuntimeDefault", "Localhost")


def _selinux(spec: Object, _: Object) -> Fault | None:
    kinds, told = set(), set()

    def is_bad(context: Object) -> bool:
        options = part(context, "seLinuxOptions")
        kind = text(options, "type")
        kinds.update({kind} - set(_SELINUX))
        set_too = [key for key in ("user", "role") if options.get(key)]
        told.update(set_too)
        return kind not in _SELINUX or bool(set_too)

    pod = is_bad(part(spec, "securityContext"))
    bad = [name for name, _one, context in _containers(spec) if is_bad(context)]
    if not pod and not bad:
        return None
    data = [_several("type", sorted(kinds))] if kinds else []
    data += [f"{key} may not be set" for key in ("user", "role") if key in told]
    who = _setters(pod=pod, containers=bad)
    return "seLinuxOptions", (
        f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"
    )


def _sysctls(spec: Object, _: Object) -> Fault | None:
    names = [text(one, "name") for one in parts(spec, "securityContext", "sysctls")]
    bad = [name for name in names if name not in _SYSCTLS]
    return ("forbidden sysctls", ", ".join(bad)) if bad else None


def _app_armor(spec: Object, annotations: Object) -> Fault | None:
    kinds, bad = set(), []
    pod = text(spec, "securityContext", "appArmorProfile", "type")
    if pod == "Unconfined":
        kinds.add(pod)
    for name, _one, context in _containers(spec):
        if text(context, "appArmorProfile", "type") == "Unconfined":
            bad.append(name)
            kinds.add("Unconfined")
    notes = sorted(
        f'{key}="{value}"'
        for key, value in annotations.items()
        if key.startswith(_ARMOR)
        and value not in ("", "runtime/default")
        and not value.startswith("localhost/")
    )
    who = [_setters(pod=bool(kinds) and pod == "Unconfined", containers=bad)] if kinds else []
    who += [("annotation" if len(notes) == 1 else "annotations")] if notes else []
    if not who:
        return None
    values = [*sorted(kinds), *notes]
    reason = "forbidden AppArmor profile" + ("s" if len(values) > 1 else "")
    return reason, f"{' and '.join(who)} must not set AppArmor profile type to {_quoted(values)}"


def _windows(spec: Object, _: Object) -> Fault | None:
    pod = bool(part(spec, "securityContext", "windowsOptions").get("hostProcess"))
    bad = [
        name
        for name, _one, context in _containers(spec)
        if part(context, "windowsOptions").get("hostProcess")
    ]
    if not pod and not bad:
        return None
    why = "must not set securityContext.windowsOptions.hostProcess=true"
    return "hostProcess", f"{_setters(pod=pod, containers=bad)} {why}"


def _on_windows(spec: Object) -> bool:
    return text(spec, "os", "name") == "windows"


def _escalation(spec: Object, _: Object) -> Fault | None:
    bad = [
        name
        for name, _one, context in _containers(spec)
        if context.get("allowPrivilegeEscalation") is not False
    ]
    if not bad or _on_windows(spec):
        return None
    why = "must set securityContext.allowPrivilegeEscalation=false"
    return "allowPrivilegeEscalation != false", f"{_several('container', bad)} {why}"


def _dropped(spec: Object, _: Object) -> Fault | None:
    missing, adding, more = [], [], set()
    for name, _one, context in _containers(spec):
        if "ALL" not in items(context, "capabilities", "drop"):
            missing.append(name)
        extra = set(items(context, "capabilities", "add")) - {"NET_BIND_SERVICE"}
        more |= extra
        adding += [name] if extra else []
    told = []
    if missing:
        why = 'must set securityContext.capabilities.drop=["ALL"]'
        told.append(f"{_several('container', missing)} {why}")
    if adding:
        why = f"must not include {_quoted(sorted(more))} in securityContext.capabilities.add"
        told.append(f"{_several('container', adding)} {why}")
    return (
        ("unrestricted capabilities", "; ".join(told)) if told and not _on_windows(spec) else None
    )


def _volumes(spec: Object, _: Object) -> Fault | None:
    bad, kinds = [], set()
    for volume in parts(spec, "volumes"):
        sources = [key for key in volume if key != "name" and volume[key] is not None]
        if not _VOLUMES.intersection(sources):
            bad.append(text(volume, "name"))
            kinds.add(sources[0] if sources else "unknown")
    if not bad:
        return None
    what = _several("restricted volume type", sorted(kinds))
    return "restricted volume types", f"{_several('volume', bad)} {_uses(bad)} {what}"


def _not_root(spec: Object, _: Object) -> Fault | None:
    wish = part(spec, "securityContext").get("runAsNonRoot")
    every = [(name, context.get("runAsNonRoot")) for name, _one, context in _containers(spec)]
    said = [name for name, own in every if own is False]
    silent = [name for name, own in every if own is None and wish is not True]
    if spec.get("hostUsers") is False or not (said or silent or wish is False):
        return None
    reason = "runAsNonRoot != true"
    if said or wish is False:
        who = _setters(pod=wish is False, containers=said)
        return reason, f"{who} must not set securityContext.runAsNonRoot=false"
    who = _several("container", silent)
    return reason, f"pod or {who} must set securityContext.runAsNonRoot=true"


def _no_root_user(spec: Object, _: Object) -> Fault | None:
    pod = part(spec, "securityContext").get("runAsUser") == 0
    bad = [name for name, _one, context in _containers(spec) if context.get("runAsUser") == 0]
    if spec.get("hostUsers") is False or not (pod or bad):
        return None
    return "runAsUser=0", f"{_setters(pod=pod, containers=bad)} must not set runAsUser=0"


def _seccomp_set(spec: Object, notes: Object) -> Fault | None:
    """The same as `_seccomp`, and a profile must be set."""
    if _on_windows(spec):
        return None
    found = _seccomp(spec, notes)
    if found is not None or text(spec, "securityContext", "seccompProfile", "type"):
        return found
    silent = [
        name
        for name, _one, context in _containers(spec)
        if not text(context, "seccompProfile", "type")
    ]
    if not silent:
        return None
    why = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return "seccompProfile", f"pod or {_several('container', silent)} {why}"


_BASELINE: tuple[Check, ...] = (
    _app_armor,
    _capabilities,
    _host_namespaces,
    _host_paths,
    _host_ports,
    _host_probes,
    _privileged,
    _proc_mount,
    _selinux,
    _seccomp,
    _sysctls,
    _windows,
)
_RESTRICTED: tuple[Check, ...] = (
    *(each for each in _BASELINE if each not in (_capabilities, _host_paths, _seccomp)),
    _escalation,
    _dropped,
    _volumes,
    _not_root,
    _no_root_user,
    _seccomp_set,
)
