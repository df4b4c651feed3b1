"""Probes and hooks of containers: what is asked of them, when, and how often."""

from atoll.apiserver.fields.error import Errors, forbidden, invalid, required
from atoll.apiserver.kinds.reading import given, items
from atoll.apiserver.kinds.rules import (
    Check,
    chosen,
    if_given,
    in_range,
    needed,
    not_negative,
    port_errors,
    port_name_errors,
)
from atoll.wire import Wire

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_WATCHED = frozenset(["lifecycle", *_PROBES])
_GRACE = "terminationGracePeriodSeconds"
_SCHEMES = ("HTTP", "HTTPS")
_NUMBERS = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)


def probes_errors(container: Wire, where: str, *, restarted: bool) -> Errors:
    """The hooks and probes of a container; one that is run once may have none."""
    if _WATCHED.isdisjoint(container):  # as nearly always
        return
    why = "may not be set for init containers without restartPolicy=Always"
    for kind in ("lifecycle", *_PROBES):
        if given(container, kind) is not None and not restarted:
            yield forbidden(f"{where}.{kind}", why)
        else:
            check = _hooks_errors if kind == "lifecycle" else _probe_errors
            yield from if_given(container, where, kind, check)


def _hooks_errors(lifecycle: Wire, where: str) -> Errors:
    for moment in ("postStart", "preStop"):
        yield from if_given(lifecycle, where, moment, _handler_errors)


def _probe_errors(probe: Wire, where: str) -> Errors:
    yield from _handler_errors(probe, where)
    yield from not_negative(probe, where, *_NUMBERS)
    yield from in_range(probe, where, _GRACE, "must be greater than 0", 1)
    if where.endswith("readinessProbe"):
        if (grace := probe.get(_GRACE)) is not None:
            yield invalid(f"{where}.{_GRACE}", grace, "must not be set for readinessProbes")
    elif probe.get("successThreshold") != 1:
        threshold = probe.get("successThreshold", 0)
        yield invalid(f"{where}.successThreshold", threshold, "must be 1")


def _handler_errors(handler: Wire, where: str) -> Errors:
    """Exactly one thing must be done; of several only the first is looked at."""
    present = [kind for kind in _HANDLERS if given(handler, kind) is not None]
    if not present:
        yield required(where, "must specify a handler type")
        return
    first = present[0]
    why = "may not specify more than 1 handler type"
    yield from _HANDLERS[first](handler[first], f"{where}.{first}")
    yield from (forbidden(f"{where}.{kind}", why) for kind in present[1:])


def _command_errors(action: Wire, where: str) -> Errors:
    return [] if items(action, "command") else [required(f"{where}.command")]


def _request_errors(action: Wire, where: str) -> Errors:
    yield from needed(action, where, "path")
    yield from _port_errors(action, where)
    yield from chosen(action, where, "scheme", _SCHEMES)


def _port_errors(action: Wire, where: str) -> Errors:
    port = action.get("port", 0)
    check = port_name_errors if isinstance(port, str) else port_errors
    return check(port, f"{where}.port")


_HANDLERS: dict[str, Check] = {
    "exec": _command_errors,
    "httpGet": _request_errors,
    "tcpSocket": _port_errors,
    "grpc": _port_errors,
    "sleep": lambda _, _where: [],
}
