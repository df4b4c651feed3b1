"""What a pod may not have at the baseline of the Pod Security Standards: known ways to its node."""

from collections.abc import Callable, Iterator

from atoll.apiserver.kinds.reading import items, part, parts, text
from atoll.wire import Object

Fault = tuple[str, str]  # the rule in short, and what breaks it
Check = Callable[[Object, Object], Fault | None]
"""Looks at a pod's spec and annotations."""

_LISTS = ("initContainers", "containers", "ephemeralContainers")


def containers(spec: Object) -> Iterator[tuple[str, Object, Object]]:
    """Every container with its name and its security context."""
    for kind in _LISTS:
        for one in parts(spec, kind):
            yield text(one, "name"), one, part(one, "securityContext")


def quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def several(word: str, names: list[str]) -> str:
    """One thing, or several, by their names."""
    return f"{word if len(names) == 1 else word + 's'} {quoted(names)}"


def setters(*, pod: bool, containers: list[str]) -> str:
    """Who has set something: the pod, containers, or both."""
    every = ["pod"] if pod else []
    return " and ".join([*every, *([several("container", containers)] if containers else [])])


def uses(names: list[str]) -> str:
    return "uses" if len(names) == 1 else "use"


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
_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def _host_namespaces(spec: Object, _: Object) -> Fault | None:
    told = [f"{key}=true" for key in ("hostNetwork", "hostPID", "hostIPC") if spec.get(key)]
    return ("host namespaces", ", ".join(told)) if told else None


def host_paths(spec: Object, _: Object) -> Fault | None:
    """A pod sees no files of its node."""
    bad = [text(one, "name") for one in parts(spec, "volumes") if one.get("hostPath") is not None]
    return ("hostPath volumes", several("volume", bad)) if bad else None


def _host_ports(spec: Object, _: Object) -> Fault | None:
    bad, ports = [], set()
    for name, container, _context in containers(spec):
        there = {str(one["hostPort"]) for one in parts(container, "ports") if one.get("hostPort")}
        ports |= there
        bad += [name] if there else []
    if not bad:
        return None
    word = "hostPort" if len(ports) == 1 else "hostPorts"
    return (
        "hostPort",
        f"{several('container', bad)} {uses(bad)} {word} {', '.join(sorted(ports))}",
    )


def _host_probes(spec: Object, _: Object) -> Fault | None:
    bad, hosts = set(), set()
    for name, container, _context in containers(spec):
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
    what = several("probe or lifecycle host", found)
    return "probe or lifecycle host", f"{several('container', names)} {uses(names)} {what}"


def _privileged(spec: Object, _: Object) -> Fault | None:
    bad = [name for name, _one, context in containers(spec) if context.get("privileged")]
    why = "must not set securityContext.privileged=true"
    return ("privileged", f"{several('container', bad)} {why}") if bad else None


def capabilities(spec: Object, _: Object) -> Fault | None:
    """A container has no more capabilities than containers usually have."""
    bad, more = [], set()
    for name, _one, context in containers(spec):
        extra = set(items(context, "capabilities", "add")) - _CAPABILITIES
        more |= extra
        bad += [name] if extra else []
    if not bad:
        return None
    why = f"must not include {quoted(sorted(more))} in securityContext.capabilities.add"
    return "non-default capabilities", f"{several('container', bad)} {why}"


def _proc_mount(spec: Object, _: Object) -> Fault | None:
    bad = {
        name: mount
        for name, _one, context in containers(spec)
        if (mount := text(context, "procMount")) not in ("", "Default")
    }
    if not bad or spec.get("hostUsers") is False:
        return None
    kinds = quoted(sorted(set(bad.values())))
    why = f"must not set securityContext.procMount to {kinds}"
    return "procMount", f"{several('container', list(bad))} {why}"


def seccomp(spec: Object, _: Object) -> Fault | None:
    """Nobody takes its profile of system calls off."""
    """A profile that is no profile, set by the pod or by a container."""
    kinds: set[str] = set()
    pod = text(spec, "securityContext", "seccompProfile", "type")
    is_bad = pod not in ("", *_PROFILES)
    kinds |= {pod} if is_bad else set()
    bad = []
    for name, _one, context in containers(spec):
        kind = text(context, "seccompProfile", "type")
        if kind not in ("", *_PROFILES):
            bad.append(name)
            kinds.add(kind)
    if not kinds:
        return None
    who = setters(pod=is_bad, containers=bad)
    why = f"must not set securityContext.seccompProfile.type to {quoted(sorted(kinds))}"
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
    bad = [name for name, _one, context in containers(spec) if is_bad(context)]
    if not pod and not bad:
        return None
    data = [several("type", sorted(kinds))] if kinds else []
    data += [f"{key} may not be set" for key in ("user", "role") if key in told]
    who = setters(pod=pod, containers=bad)
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
    for name, _one, context in containers(spec):
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
    who = [setters(pod=bool(kinds) and pod == "Unconfined", containers=bad)] if kinds else []
    who += [("annotation" if len(notes) == 1 else "annotations")] if notes else []
    if not who:
        return None
    values = [*sorted(kinds), *notes]
    reason = "forbidden AppArmor profile" + ("s" if len(values) > 1 else "")
    return reason, f"{' and '.join(who)} must not set AppArmor profile type to {quoted(values)}"


def _windows(spec: Object, _: Object) -> Fault | None:
    pod = bool(part(spec, "securityContext", "windowsOptions").get("hostProcess"))
    bad = [
        name
        for name, _one, context in containers(spec)
        if part(context, "windowsOptions").get("hostProcess")
    ]
    if not pod and not bad:
        return None
    why = "must not set securityContext.windowsOptions.hostProcess=true"
    return "hostProcess", f"{setters(pod=pod, containers=bad)} {why}"


BASELINE: tuple[Check, ...] = (
    _app_armor,
    capabilities,
    _host_namespaces,
    host_paths,
    _host_ports,
    _host_probes,
    _privileged,
    _proc_mount,
    _selinux,
    seccomp,
    _sysctls,
    _windows,
)
