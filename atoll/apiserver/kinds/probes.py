"""Probes and hooks of containers: what is asked of them, when, and how often."""

from collections.abc import Callable

from atoll.apiserver.fields.error import (
    Errors,
    forbidden,
    invalid,
    not_supported,
    required,
)
from atoll.apiserver.kinds.reading import Object, given, items, text
from atoll.apiserver.kinds.rules import not_negative, port_errors, port_name_errors

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_WATCHED = frozenset(["lifecycle", *_PROBES])
_SCHEMES = ("HTTP", "HTTPS")
_NUMBERS = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)


def probes_errors(container: Object, where: str, *, restarted: bool) -> Errors:
    """The hooks and probes of a container; one that is run once may have none."""
    if _WATCHED.isdisjoint(container):  # as nearly always
        return
    why = "may not be set for init containers without restartPolicy=Always"
    lifecycle = given(container, "lifecycle")
    if lifecycle is not None:
        place = f"{where}.lifecycle"
        if restarted:
            yield from _hooks_errors(lifecycle, place)
        else:
            yield forbidden(place, why)
    for kind in _PROBES:
        probe = given(container, kind)
        if probe is not None:
            place = f"{where}.{kind}"
            if restarted:
                yield from _probe_errors(probe, kind, place)
            else:
                yield forbidden(place, why)


def _hooks_errors(lifecycle: Object, where: str) -> Errors:
    for moment in ("postStart", "preStop"):
        handler = given(lifecycle, moment)
        if handler is not None:
            yield from _handler_errors(handler, f"{where}.{moment}")


def _probe_errors(probe: Object, kind: str, where: str) -> Errors:
    yield from _handler_errors(probe, where)
    yield from not_negative(probe, where, *_NUMBERS)
    grace, place = probe.get("terminationGracePeriodSeconds"), "terminationGracePeriodSeconds"
    if isinstance(grace, int) and grace <= 0:
        yield invalid(f"{where}.{place}", grace, "must be greater than 0")
    if kind == "readinessProbe":
        if grace is not None:
            yield invalid(f"{where}.{place}", grace, "must not be set for readinessProbes")
    elif probe.get("successThreshold") != 1:
        threshold = probe.get("successThreshold", 0)
        yield invalid(f"{where}.successThreshold", threshold, "must be 1")


def _handler_errors(handler: Object, where: str) -> Errors:
    """Exactly one thing must be done; of several only the first is looked at."""
    present = [kind for kind in _HANDLERS if given(handler, kind) is not None]
    if not present:
        yield required(where, "must specify a handler type")
        return
    first = present[0]
    why = "may not specify more than 1 handler type"
    yield from _HANDLERS[first](handler[first], f"{where}.{first}")
    yield from (forbidden(f"{where}.{kind}", why) for kind in present[1:])


def _command_errors(action: Object, where: str) -> Errors:
    return [] if items(action, "command") else [required(f"{where}.command")]


def _request_errors(action: Object, where: str) -> Errors:
    if not text(action, "path"):
        yield required(f"{where}.path")
    yield from _port_errors(action, where)
    scheme = action.get("scheme")
    if scheme not in _SCHEMES:
        yield not_supported(f"{where}.scheme", scheme, _SCHEMES)


def _port_errors(action: Object, where: str) -> Errors:
    port = action.get("port", 0)
    if isinstance(port, str):
        return port_name_errors(port, f"{where}.port")
    return port_errors(port, f"{where}.port")


def _sleep_errors(_: Object, _where: str) -> Errors:
    return []


_HANDLERS: dict[str, Callable[[Object, str], Errors]] = {
    "exec": _command_errors,
    "httpGet": _request_errors,
    "tcpSocket": _port_errors,
    "grpc": _port_errors,
    "sleep": _sleep_errors,
}
