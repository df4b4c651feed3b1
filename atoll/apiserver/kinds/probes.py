"""Probes and hooks of containers: what is asked of them, when, and how often."""

from collections.abc import Callable

from atoll.apiserver.fields.error import FieldError, forbidden, invalid, not_supported, required
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


def probes_errors(container: Object, where: str, *, restarted: bool) -> list[FieldError]:
    """The hooks and probes of a container; one that is run once may have none."""
    errors: list[FieldError] = []
    if _WATCHED.isdisjoint(container):  # as nearly always
        return errors
    why = "may not be set for init containers without restartPolicy=Always"
    lifecycle = given(container, "lifecycle")
    if lifecycle is not None:
        place = f"{where}.lifecycle"
        errors += _hooks_errors(lifecycle, place) if restarted else [forbidden(place, why)]
    for kind in _PROBES:
        probe = given(container, kind)
        if probe is not None:
            place = f"{where}.{kind}"
            errors += _probe_errors(probe, kind, place) if restarted else [forbidden(place, why)]
    return errors


def _hooks_errors(lifecycle: Object, where: str) -> list[FieldError]:
    errors = []
    for moment in ("postStart", "preStop"):
        handler = given(lifecycle, moment)
        if handler is not None:
            errors += _handler_errors(handler, f"{where}.{moment}")
    return errors


def _probe_errors(probe: Object, kind: str, where: str) -> list[FieldError]:
    errors = _handler_errors(probe, where) + not_negative(probe, where, *_NUMBERS)
    grace, place = probe.get("terminationGracePeriodSeconds"), "terminationGracePeriodSeconds"
    if isinstance(grace, int) and grace <= 0:
        errors.append(invalid(f"{where}.{place}", grace, "must be greater than 0"))
    if kind == "readinessProbe":
        if grace is not None:
            why = "must not be set for readinessProbes"
            errors.append(invalid(f"{where}.{place}", grace, why))
    elif probe.get("successThreshold") != 1:
        threshold = probe.get("successThreshold", 0)
        errors.append(invalid(f"{where}.successThreshold", threshold, "must be 1"))
    return errors


def _handler_errors(handler: Object, where: str) -> list[FieldError]:
    """Exactly one thing must be done; of several only the first is looked at."""
    present = [kind for kind in _HANDLERS if given(handler, kind) is not None]
    if not present:
        return [required(where, "must specify a handler type")]
    first = present[0]
    why = "may not specify more than 1 handler type"
    errors = _HANDLERS[first](handler[first], f"{where}.{first}")
    return errors + [forbidden(f"{where}.{kind}", why) for kind in present[1:]]


def _command_errors(action: Object, where: str) -> list[FieldError]:
    return [] if items(action, "command") else [required(f"{where}.command")]


def _request_errors(action: Object, where: str) -> list[FieldError]:
    errors = [] if text(action, "path") else [required(f"{where}.path")]
    errors += _port_errors(action, where)
    scheme = action.get("scheme")
    if scheme not in _SCHEMES:
        errors.append(not_supported(f"{where}.scheme", scheme, _SCHEMES))
    return errors


def _port_errors(action: Object, where: str) -> list[FieldError]:
    port = action.get("port", 0)
    if isinstance(port, str):
        return port_name_errors(port, f"{where}.port")
    return port_errors(port, f"{where}.port")


def _sleep_errors(_: Object, _where: str) -> list[FieldError]:
    return []


_HANDLERS: dict[str, Callable[[Object, str], list[FieldError]]] = {
    "exec": _command_errors,
    "httpGet": _request_errors,
    "tcpSocket": _port_errors,
    "grpc": _port_errors,
    "sleep": _sleep_errors,
}
