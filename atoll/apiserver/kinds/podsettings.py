"""What a pod may say beside its containers and volumes: names, hosts, places, resolvers.

Each rule belongs to one field and is asked only where that field is given.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

from atoll.apiserver.fields.error import FieldError, invalid, not_supported, required
from atoll.apiserver.kinds.addresses import address_errors
from atoll.apiserver.kinds.affinity import affinity_errors, spread_errors, toleration_errors
from atoll.apiserver.kinds.labels import label_errors
from atoll.apiserver.kinds.podsecurity import pod_security_errors
from atoll.apiserver.kinds.reading import Object, each, items, parts, text
from atoll.dialects.kubernetes.names import label_faults, qualified_faults, subdomain_faults

_PREEMPTION = ("PreemptLowerPriority", "Never")
_SYSTEMS = ("linux", "windows")
_DEADLINE_MAX = 2147483647
_SEARCH_PATTERN = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*"
_SEARCH = re.compile(_SEARCH_PATTERN)
_SEARCH_WHY = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or"
    " '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used"
    f" for validation is '{_SEARCH_PATTERN}')"
)
_NAMESERVERS_MAX = 3

Rule = Callable[[Any, str, Object], Iterable[FieldError]]


def settings_errors(spec: Object, path: str) -> list[FieldError]:
    """What is wrong with what a pod says of itself."""
    errors: list[FieldError] = []
    for key, rule in _RULES:
        value = spec.get(key)
        if value or value == 0:
            errors += rule(value, f"{path}.{key}", spec)
    return errors


def _labels(selector: Any, where: str, _: Object) -> list[FieldError]:
    return label_errors(selector, where)


def _security(context: Any, where: str, _: Object) -> list[FieldError]:
    return pod_security_errors(context, where)


def _shared_processes(shared: Any, where: str, spec: Object) -> list[FieldError]:
    if not shared or not spec.get("hostPID"):
        return []
    place = f"{where.rpartition('.')[0]}.securityContext.shareProcessNamespace"
    return [invalid(place, shared, "ShareProcessNamespace and HostPID cannot both be enabled")]


def _affinity(affinity: Any, where: str, _: Object) -> list[FieldError]:
    return affinity_errors(affinity, where)


def _resolver_policy(policy: Any, where: str, spec: Object) -> list[FieldError]:
    """A pod that is resolved by nobody must say by whom it is."""
    if policy != "None":
        return []
    place = where.removesuffix("dnsPolicy") + "dnsConfig"
    if not isinstance(spec.get("dnsConfig"), dict):
        return [required(place, "must provide `dnsConfig` when `dnsPolicy` is None")]
    if not items(spec, "dnsConfig", "nameservers"):
        why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        return [required(f"{place}.nameservers", why)]
    return []


def _resolver(config: Any, where: str, _: Object) -> list[FieldError]:
    servers, errors = items(config, "nameservers"), []
    if len(servers) > _NAMESERVERS_MAX:
        why = f"must not have more than {_NAMESERVERS_MAX} nameservers"
        errors.append(invalid(f"{where}.nameservers", servers, why))
    for index, server in enumerate(servers):
        errors += address_errors(str(server), f"{where}.nameservers[{index}]")
    for index, search in enumerate(items(config, "searches")):
        if search != "." and not _SEARCH.fullmatch(str(search).removesuffix(".")):
            place, shown = f"{where}.searches[{index}]", str(search).removesuffix(".")
            errors.append(invalid(place, shown, _SEARCH_WHY))
    return errors + [
        required(place, "must not be empty")
        for option, place in each(parts(config, "options"), f"{where}.options")
        if not text(option, "name")
    ]


def _readiness_gates(_: Any, where: str, spec: Object) -> list[FieldError]:
    return [
        invalid(f"{place}.conditionType", kind, reason)
        for gate, place in each(parts(spec, "readinessGates"), where)
        for kind in [text(gate, "conditionType")]
        for reason in qualified_faults(kind)
    ]


def _scheduling_gates(_: Any, where: str, spec: Object) -> list[FieldError]:
    return [
        invalid(place, name, reason)
        for gate, place in each(parts(spec, "schedulingGates"), where)
        for name in [text(gate, "name")]
        for reason in qualified_faults(name)
    ]


def _spread(_: Any, where: str, spec: Object) -> list[FieldError]:
    return spread_errors(parts(spec, "topologySpreadConstraints"), where)


def _subdomain(name: Any, where: str, _: Object) -> list[FieldError]:
    return [invalid(where, name, reason) for reason in subdomain_faults(str(name))]


def _label(name: Any, where: str, _: Object) -> list[FieldError]:
    return [invalid(where, name, reason) for reason in label_faults(str(name))]


def _deadline(seconds: Any, where: str, _: Object) -> list[FieldError]:
    if isinstance(seconds, int) and not 1 <= seconds <= _DEADLINE_MAX:
        return [invalid(where, seconds, f"must be between 1 and {_DEADLINE_MAX}, inclusive")]
    return []


def _tolerations(_: Any, where: str, spec: Object) -> list[FieldError]:
    return toleration_errors(parts(spec, "tolerations"), where)


def _host_aliases(_: Any, where: str, spec: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    for alias, place in each(parts(spec, "hostAliases"), where):
        errors += address_errors(text(alias, "ip"), f"{place}.ip")
        for index, host in enumerate(items(alias, "hostnames")):
            errors += _subdomain(host, f"{place}.hostnames[{index}]", spec)
    return errors


def _preemption(policy: Any, where: str, _: Object) -> list[FieldError]:
    return [] if policy in _PREEMPTION else [not_supported(where, policy, _PREEMPTION)]


def _system(system: Any, where: str, _: Object) -> list[FieldError]:
    name = text(system, "name")
    if not name:
        return [required(f"{where}.name", "cannot be empty")]
    return [] if name in _SYSTEMS else [not_supported(where, name, _SYSTEMS)]


# In the order in which Kubernetes looks at them.
_RULES: tuple[tuple[str, Rule], ...] = (
    ("nodeSelector", _labels),
    ("securityContext", _security),
    ("shareProcessNamespace", _shared_processes),
    ("affinity", _affinity),
    ("dnsPolicy", _resolver_policy),
    ("dnsConfig", _resolver),
    ("readinessGates", _readiness_gates),
    ("schedulingGates", _scheduling_gates),
    ("topologySpreadConstraints", _spread),
    ("serviceAccountName", _subdomain),
    ("nodeName", _subdomain),
    ("activeDeadlineSeconds", _deadline),
    ("hostname", _label),
    ("subdomain", _label),
    ("tolerations", _tolerations),
    ("hostAliases", _host_aliases),
    ("priorityClassName", _subdomain),
    ("runtimeClassName", _subdomain),
    ("preemptionPolicy", _preemption),
    ("os", _system),
)
