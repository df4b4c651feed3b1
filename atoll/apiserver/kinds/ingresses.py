"""Ingress and IngressClass of networking.k8s.io/v1: how requests from outside are let in."""

from atoll.apiserver.fields.error import (
    Errors,
    faulty,
    forbidden,
    invalid,
    named,
    not_supported,
    optional,
    required,
    too_long,
)
from atoll.apiserver.kinds.addresses import address_of
from atoll.apiserver.kinds.reading import fill, given, items, part, parts, text
from atoll.apiserver.kinds.rules import (
    api_group_errors,
    chosen,
    fixed,
    if_given,
    in_each,
    named_errors,
    port_errors,
    port_name_errors,
    prefixed_path_errors,
)
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import label_faults, subdomain_faults, wildcard_faults
from atoll.wire import Wire

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_NEVER_IN_PATHS = ("//", "/./", "/../", "%2f", "%2F")
_NEVER_LAST_IN_PATHS = ("/..", "/.")
_SCOPES = ("Cluster", "Namespace")
_CONTROLLER_MAX = 250


def _ingress_errors(ingress: Wire) -> Errors:
    spec = part(ingress, "spec")
    rules, backend = parts(spec, "rules"), given(spec, "defaultBackend")
    if not rules and backend is None:
        why = "either `defaultBackend` or `rules` must be specified"
        yield invalid("spec", items(spec, "rules") or None, why)
    yield from if_given(spec, "spec", "defaultBackend", _backend_errors)
    yield from in_each(spec, "spec", "rules", _rule_errors)
    yield from in_each(spec, "spec", "tls", _tls_errors)
    name = spec.get("ingressClassName")
    if name is not None:
        yield from faulty("spec.ingressClassName", name, subdomain_faults(name))


def _rule_errors(rule: Wire, where: str) -> Errors:
    host = text(rule, "host")
    if host:
        if address_of(host) is not None:
            yield invalid(f"{where}.host", host, "must be a DNS name, not an IP address")
        yield from _host_errors(host, f"{where}.host")
    yield from if_given(rule, where, "http", _paths_errors)


def _paths_errors(http: Wire, where: str) -> Errors:
    if not parts(http, "paths"):
        yield required(f"{where}.paths")
    yield from in_each(http, where, "paths", _path_errors)


def _host_errors(host: str, where: str) -> Errors:
    faults = wildcard_faults(host) if "*" in host else subdomain_faults(host)
    return faulty(where, host, faults)


def _path_errors(path: Wire, where: str) -> Errors:
    kind, written = path.get("pathType"), text(path, "path")
    if kind is None:
        yield required(f"{where}.pathType", "pathType must be specified")
        return
    place = f"{where}.path"
    if kind not in _PATH_TYPES:
        yield not_supported(f"{where}.pathType", kind, _PATH_TYPES)
    elif not written.startswith("/") and (written or kind != "ImplementationSpecific"):
        yield invalid(place, written, "must be an absolute path")
    if kind in ("Exact", "Prefix"):
        faults = [f"must not contain '{never}'" for never in _NEVER_IN_PATHS if never in written]
        faults += [f"cannot end with '{n}'" for n in _NEVER_LAST_IN_PATHS if written.endswith(n)]
        yield from faulty(place, written, faults)
    yield from _backend_errors(part(path, "backend"), f"{where}.backend")


def _backend_errors(backend: Wire, where: str) -> Errors:
    resource, service = given(backend, "resource"), given(backend, "service")
    if resource is not None and service is not None:
        return [invalid(where, "", "cannot set both resource and service backends")]
    if resource is not None:
        place = f"{where}.resource"
        named = named_errors(resource, place, "kind", "name")
        return [*api_group_errors(resource, place), *named]
    if service is None:
        return [invalid(where, "", "resource or service backend is required")]
    return _service_errors(service, where)


def _service_errors(service: Wire, where: str) -> Errors:
    name, port = text(service, "name"), part(service, "port")
    place = f"{where}.service"
    yield from named(f"{place}.name", name, label_faults)
    if text(port, "name") and port.get("number"):
        yield invalid(where, "", "cannot set both port name & port number")
    elif text(port, "name"):
        yield from port_name_errors(text(port, "name"), f"{place}.port.name")
    elif port.get("number"):
        yield from port_errors(port["number"], f"{place}.port.number")
    else:
        yield required(where, "port name or number is required")


def _tls_errors(tls: Wire, where: str) -> Errors:
    for index, host in enumerate(items(tls, "hosts")):
        yield from _host_errors(str(host), f"{where}.hosts[{index}]")
    yield from optional(f"{where}.secretName", text(tls, "secretName"), subdomain_faults)


def _default_class(ingress_class: Wire) -> None:
    parameters = given(ingress_class, "spec", "parameters")
    if parameters is not None:
        fill(parameters, scope="Cluster")


def _class_errors(ingress_class: Wire) -> Errors:
    controller, where = text(ingress_class, "spec", "controller"), "spec.controller"
    if len(controller) > _CONTROLLER_MAX:
        yield too_long(where, f"may not be more than {_CONTROLLER_MAX} bytes")
    yield from prefixed_path_errors(controller, where)
    yield from if_given(part(ingress_class, "spec"), "spec", "parameters", _parameters_errors)


def _parameters_errors(parameters: Wire, where: str) -> Errors:
    yield from api_group_errors(parameters, where)
    yield from named_errors(parameters, where, "kind", "name")
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    place = f"{where}.namespace"
    yield from chosen(parameters, where, "scope", _SCOPES)
    if scope == "Cluster" and namespace is not None:
        yield forbidden(place, "`parameters.scope` is set to 'Cluster'")
    elif scope == "Namespace" and namespace is None:
        yield required(place, "`parameters.scope` is set to 'Namespace'")
    elif scope == "Namespace":
        yield from faulty(place, namespace, label_faults(str(namespace)))


INGRESS = Strategy(tracks_generation=True, has_status=True, errors=_ingress_errors)
INGRESS_CLASS = Strategy(
    tracks_generation=True,
    default=_default_class,
    errors=_class_errors,
    update_errors=fixed(["spec", "controller"]),
)
