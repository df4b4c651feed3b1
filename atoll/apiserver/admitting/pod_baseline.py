"""What a pod may not have at the baseline of the Pod Security Standards: known ways to its node."""

from collections.abc import Callable, Iterable, Iterator, Set

from atoll.apiserver.kinds.reading import items, part, parts, text
from atoll.wire import Wire

Fault = tuple[str, str]  # the rule in short, and what breaks it
Check = Callable[[Wire, Wire], Fault | None]
"""Looks at a pod's spec and annotations."""

_LISTS = ("initContainers", "containers", "ephemeralContainers")


def containers(spec: Wire) -> Iterator[tuple[str, Wire, Wire]]:
    """Every container with its name and its security context."""
    for kind in _LISTS:
        for one in parts(spec, kind):
            yield text(one, "name"), one, part(one, "securityContext")


def named(spec: Wire, wrong: Callable[[Wire], object]) -> list[str]:
    """The containers whose security context is wrong in this way."""
    return [name for name, _one, context in containers(spec) if wrong(context)]


def gathered(spec: Wire, of: Callable[[Wire, Wire], Iterable[str]]) -> tuple[list[str], list[str]]:
    """The containers that have any of these, and what they have, in order."""
    bad, values = [], set()
    for name, container, context in containers(spec):
        if there := {*of(container, context)}:
            bad.append(name)
            values |= there
    return bad, sorted(values)


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
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"),
        *("NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    ]
)
_SYSCTLS = frozenset(
    [
        *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range"),
        *("net.ipv4.ip_local_reserved_ports", "net.ipv4.ip_unprivileged_port_start"),
        *("net.ipv4.ping_group_range", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl"),
        *("net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_rmem"),
        *("net.ipv4.tcp_syncookies", "net.ipv4.tcp_wmem"),
    ]
)
_SELINUX = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def _host_namespaces(spec: Wire, _: Wire) -> Fault | None:
    told = [f"{key}=true" for key in ("hostNetwork", "hostPID", "hostIPC") if spec.get(key)]
    return ("host namespaces", ", ".join(told)) if told else None


def host_paths(spec: Wire, _: Wire) -> Fault | None:
    """A pod sees no files of its node."""
    bad = [text(one, "name") for one in parts(spec, "volumes") if one.get("hostPath") is not None]
    return ("hostPath volumes", several("volume", bad)) if bad else None


def _host_ports(spec: Wire, _: Wire) -> Fault | None:
    bad, ports = gathered(
        spec,
        lambda one, _: (
            str(port["hostPort"]) for port in parts(one, "ports") if port.get("hostPort")
        ),
    )
    word = "hostPort" if len(ports) == 1 else "hostPorts"
    what = f"{several('container', bad)} {uses(bad)} {word} {', '.join(ports)}"
    return ("hostPort", what) if bad else None


def _hosts(container: Wire, _: Wire) -> Iterator[str]:
    handlers = [part(container, probe) for probe in _PROBES]
    handlers += [part(container, "lifecycle", when) for when in ("postStart", "preStop")]
    for handler in handlers:
        for kind in ("httpGet", "tcpSocket"):
            if host := text(handler, kind, "host"):
                yield host


def _host_probes(spec: Wire, _: Wire) -> Fault | None:
    bad, found = gathered(spec, _hosts)
    names = sorted({*bad})
    what = several("probe or lifecycle host", found)
    told = f"{several('container', names)} {uses(names)} {what}"
    return ("probe or lifecycle host", told) if bad else None


def _privileged(spec: Wire, _: Wire) -> Fault | None:
    bad = named(spec, lambda context: context.get("privileged"))
    why = "must not set securityContext.privileged=true"
    return ("privileged", f"{several('container', bad)} {why}") if bad else None


def added(spec: Wire, allowed: Set[str]) -> str:
    """Who is told to have which more capabilities than these; nothing if nobody has."""
    bad, more = gathered(
        spec, lambda _, context: {*items(context, "capabilities", "add")} - allowed
    )
    why = f"must not include {quoted(more)} in securityContext.capabilities.add"
    return f"{several('container', bad)} {why}" if bad else ""


def capabilities(spec: Wire, _: Wire) -> Fault | None:
    """A container has no more capabilities than containers usually have."""
    told = added(spec, _CAPABILITIES)
    return ("non-default capabilities", told) if told else None


def _proc_mount(spec: Wire, _: Wire) -> Fault | None:
    bad, kinds = gathered(spec, lambda _, context: {text(context, "procMount")} - {"", "Default"})
    if not bad or spec.get("hostUsers") is False:
        return None
    why = f"must not set securityContext.procMount to {quoted(kinds)}"
    return "procMount", f"{several('container', [*dict.fromkeys(bad)])} {why}"


def seccomp(spec: Wire, _: Wire) -> Fault | None:
    """Nobody sets a profile of system calls that is none."""

    def wrong(context: Wire) -> set[str]:
        return {text(context, "seccompProfile", "type")} - {"", *_PROFILES}

    pod = wrong(part(spec, "securityContext"))
    bad, kinds = gathered(spec, lambda _, context: wrong(context))
    if not pod and not bad:
        return None
    who = setters(pod=bool(pod), containers=bad)
    why = f"must not set securityContext.seccompProfile.type to {quoted(sorted({*kinds, *pod}))}"
    return "seccompProfile", f"{who} {why}"


_PROFILES = ("RuntimeDefault", "Localhost")


def _selinux(spec: Wire, _: Wire) -> Fault | None:
    kinds, told = set(), set()

    def is_bad(context: Wire) -> bool:
        options = part(context, "seLinuxOptions")
        kind = text(options, "type")
        kinds.update({kind} - set(_SELINUX))
        set_too = [key for key in ("user", "role") if options.get(key)]
        told.update(set_too)
        return kind not in _SELINUX or bool(set_too)

    pod = is_bad(part(spec, "securityContext"))
    bad = named(spec, is_bad)
    if not pod and not bad:
        return None
    data = [several("type", sorted(kinds))] if kinds else []
    data += [f"{key} may not be set" for key in ("user", "role") if key in told]
    who = setters(pod=pod, containers=bad)
    return "seLinuxOptions", (
        f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"
    )


def _sysctls(spec: Wire, _: Wire) -> Fault | None:
    names = [text(one, "name") for one in parts(spec, "securityContext", "sysctls")]
    bad = [name for name in names if name not in _SYSCTLS]
    return ("forbidden sysctls", ", ".join(bad)) if bad else None


def _app_armor(spec: Wire, annotations: Wire) -> Fault | None:
    def wrong(context: Wire) -> bool:
        return text(context, "appArmorProfile", "type") == "Unconfined"

    pod, bad = wrong(part(spec, "securityContext")), named(spec, wrong)
    notes = sorted(
        f'{key}="{value}"'
        for key, value in annotations.items()
        if key.startswith(_ARMOR)
        and value not in ("", "runtime/default")
        and not value.startswith("localhost/")
    )
    who = [setters(pod=pod, containers=bad)] if pod or bad else []
    values = [*(["Unconfined"] if who else []), *notes]
    who += [("annotation" if len(notes) == 1 else "annotations")] if notes else []
    if not who:
        return None
    reason = "forbidden AppArmor profile" + ("s" if len(values) > 1 else "")
    return reason, f"{' and '.join(who)} must not set AppArmor profile type to {quoted(values)}"


def _windows(spec: Wire, _: Wire) -> Fault | None:
    def wrong(context: Wire) -> bool:
        return bool(part(context, "windowsOptions").get("hostProcess"))

    pod, bad = wrong(part(spec, "securityContext")), named(spec, wrong)
    why = "must not set securityContext.windowsOptions.hostProcess=true"
    told = f"{setters(pod=pod, containers=bad)} {why}"
    return ("hostProcess", told) if pod or bad else None


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
