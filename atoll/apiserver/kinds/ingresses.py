"""Ingress and IngressClass of networking.k8s.io/v1: how requests from outside are let in."""

from atoll.apiserver.fields.error import (
    FieldError,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from atoll.apiserver.kinds.addresses import is_address
from atoll.apiserver.kinds.reading import Object, each, fill, given, items, part, parts, text
from atoll.apiserver.kinds.rules import (
    api_group_errors,
    named_errors,
    port_errors,
    port_name_errors,
    prefixed_path_errors,
    unchanged,
)
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import label_faults, subdomain_faults, wildcard_faults

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_NEVER_IN_PATHS = ("//", "/./", "/../", "%2f", "%2F")
_NEVER_LAST_IN_PATHS = ("/..", "/.")
_SCOPES = ("Cluster", "Namespace")
_CONTROLLER_MAX = 250


def _ingress_errors(ingress: Object) -> list[FieldError]:
    spec = part(ingress, "spec")
    rules, backend = parts(spec, "rules"), given(spec, "defaultBackend")
    errors = []
    if not rules and backend is None:
        why = "either `defaultBackend` or `rules` must be specified"
        errors.append(invalid("spec", items(spec, "rules") or None, why))
    if backend is not None:
        errors += _backend_errors(backend, "spec.defaultBackend")
    for rule, where in each(rules, "spec.rules"):
        errors += _rule_errors(rule, where)
    for tls, where in each(parts(spec, "tls"), "spec.tls"):
        errors += _tls_errors(tls, where)
    name = spec.get("ingressClassName")
    if name is not None:
        where = "spec.ingressClassName"
        errors += [invalid(where, name, reason) for reason in subdomain_faults(name)]
    return errors


def _rule_errors(rule: Object, where: str) -> list[FieldError]:
    host, errors = text(rule, "host"), []
    if host:
        if is_address(host):
            why = "must be a DNS name, not an IP address"
            errors.append(invalid(f"{where}.host", host, why))
        errors += _host_errors(host, f"{where}.host")
    http = given(rule, "http")
    if http is None:
        return errors
    paths = parts(http, "paths")
    if not paths:
        errors.append(required(f"{where}.http.paths"))
    for path, place in each(paths, f"{where}.http.paths"):
        errors += _path_errors(path, place)
    return errors


def _host_errors(host: str, where: str) -> list[FieldError]:
    faults = wildcard_faults(host) if "*" in host else subdomain_faults(host)
    return [invalid(where, host, reason) for reason in faults]


def _path_errors(path: Object, where: str) -> list[FieldError]:
    kind, written = path.get("pathType"), text(path, "path")
    if kind is None:
        return [required(f"{where}.pathType", "pathType must be specified")]
    errors = []
    place = f"{where}.path"
    if kind not in _PATH_TYPES:
        errors.append(not_supported(f"{where}.pathType", kind, _PATH_TYPES))
    elif not written.startswith("/") and (written or kind != "ImplementationSpecific"):
        errors.append(invalid(place, written, "must be an absolute path"))
    if kind in ("Exact", "Prefix"):
        faults = [f"must not contain '{never}'" for never in _NEVER_IN_PATHS if never in written]
        faults += [f"cannot end with '{n}'" for n in _NEVER_LAST_IN_PATHS if written.endswith(n)]
        errors += [invalid(place, written, why) for why in faults]
    return errors + _backend_errors(part(path, "backend"), f"{where}.backend")


def _backend_errors(backend: Object, where: str) -> list[FieldError]:
    resource, service = given(backend, "resource"), given(backend, "service")
    if resource is not None and service is not None:
        return [invalid(where, "", "cannot set both resource and service backends")]
    if resource is not None:
        place = f"{where}.resource"
        return api_group_errors(resource, place) + named_errors(resource, place, "kind", "name")
    if service is None:
        return [invalid(where, "", "resource or service backend is required")]
    return _service_errors(service, where)


def _service_errors(service: Object, where: str) -> list[FieldError]:
    name, port = text(service, "name"), part(service, "port")
    place = f"{where}.service"
    errors = [invalid(f"{place}.name", name, reason) for reason in label_faults(name)]
    if not name:
        errors = [required(f"{place}.name")]
    if text(port, "name") and port.get("number"):
        errors.append(invalid(where, "", "cannot set both port name & port number"))
    elif text(port, "name"):
        errors += port_name_errors(text(port, "name"), f"{place}.port.name")
    elif port.get("number"):
        errors += port_errors(port["number"], f"{place}.port.number")
    else:
        errors.append(required(where, "port name or number is required"))
    return errors


def _tls_errors(tls: Object, where: str) -> list[FieldError]:
    errors = []
    for index, host in enumerate(items(tls, "hosts")):
        errors += _host_errors(str(host), f"{where}.hosts[{index}]")
    secret = text(tls, "secretName")
    if secret:
        place = f"{where}.secretName"
        errors += [invalid(place, secret, reason) for reason in subdomain_faults(secret)]
    return errors


def _default_class(ingress_class: Object) -> None:
    parameters = given(ingress_class, "spec", "parameters")
    if parameters is not None:
        fill(parameters, scope="Cluster")


def _class_errors(ingress_class: Object) -> list[FieldError]:
    controller = text(ingress_class, "spec", "controller")
    where, errors = "spec.controller", []
    if len(controller) > _CONTROLLER_MAX:
        errors.append(too_long(where, f"may not be more than {_CONTROLLER_MAX} bytes"))
    errors += prefixed_path_errors(controller, where)
    parameters = given(ingress_class, "spec", "parameters")
    if parameters is not None:
        errors += _parameters_errors(parameters, "spec.parameters")
    return errors


def _parameters_errors(parameters: Object, where: str) -> list[FieldError]:
    errors = api_group_errors(parameters, where) + named_errors(parameters, where, "kind", "name")
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    place = f"{where}.namespace"
    if scope not in _SCOPES:
        errors.append(not_supported(f"{where}.scope", scope, _SCOPES))
    elif scope == "Cluster" and namespace is not None:
        errors.append(forbidden(place, "`parameters.scope` is set to 'Cluster'"))
    elif scope == "Namespace" and namespace is None:
        errors.append(required(place, "`parameters.scope` is set to 'Namespace'"))
    elif scope == "Namespace":
        errors += [invalid(place, namespace, reason) for reason in label_faults(str(namespace))]
    return errors


def _class_update_errors(new: Object, old: Object) -> list[FieldError]:
    return unchanged(new, old, "spec", "controller")


INGRESS = Strategy(
    tracks_generation=True,
    has_status=True,
    errors=_ingress_errors,
)
INGRESS_CLASS = Strategy(
    tracks_generation=True,
    default=_default_class,
    errors=_class_errors,
    update_errors=_class_update_errors,
)
