"""What a pod may say beside its containers and volumes: names, hosts, places, resolvers.

Each rule belongs to one field and is asked only where that field is given.
"""

import re
from collections.abc import Callable
from typing import Any

from atoll.apiserver.fields.error import Errors, faulty, invalid, not_supported, required
from atoll.apiserver.kinds.addresses import address_errors
from atoll.apiserver.kinds.affinity import affinity_errors, spread_errors, toleration_errors
from atoll.apiserver.kinds.labels import label_errors
from atoll.apiserver.kinds.podsecurity import pod_security_errors
from atoll.apiserver.kinds.reading import each, items, parts, text
from atoll.dialects.kubernetes.names import label_faults, qualified_faults, subdomain_faults
from atoll.wire import Wire

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

Rule = Callable[[Any, str], Errors]


def settings_errors(spec: Wire, path: str) -> Errors:
    """What is wrong with what a pod says of itself."""
    for key, rule in _RULES:
        value = spec.get(key)
        if value or value == 0:
            yield from rule(spec if key in _OF_THE_WHOLE else value, f"{path}.{key}")


def _shared_processes(spec: Wire, where: str) -> Errors:
    shared = spec["shareProcessNamespace"]
    if not shared or not spec.get("hostPID"):
        return []
    place = f"{where.rpartition('.')[0]}.securityContext.shareProcessNamespace"
    return [invalid(place, shared, "ShareProcessNamespace and HostPID cannot both be enabled")]


def _resolver_policy(spec: Wire, where: str) -> Errors:
    """A pod that is resolved by nobody must say by whom it is."""
    if spec["dnsPolicy"] != "None":
        return []
    place = where.removesuffix("dnsPolicy") + "dnsConfig"
    if not isinstance(spec.get("dnsConfig"), dict):
        return [required(place, "must provide `dnsConfig` when `dnsPolicy` is None")]
    if not items(spec, "dnsConfig", "nameservers"):
        why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        return [required(f"{place}.nameservers", why)]
    return []


def _resolver(config: Wire, where: str) -> Errors:
    servers = items(config, "nameservers")
    if len(servers) > _NAMESERVERS_MAX:
        why = f"must not have more than {_NAMESERVERS_MAX} nameservers"
        yield invalid(f"{where}.nameservers", servers, why)
    for index, server in enumerate(servers):
        yield from address_errors(str(server), f"{where}.nameservers[{index}]")
    for index, search in enumerate(items(config, "searches")):
        if search != "." and not _SEARCH.fullmatch(str(search).removesuffix(".")):
            place, shown = f"{where}.searches[{index}]", str(search).removesuffix(".")
            yield invalid(place, shown, _SEARCH_WHY)
    for option, place in each(parts(config, "options"), f"{where}.options"):
        if not text(option, "name"):
            yield required(place, "must not be empty")


def _readiness_gates(gates: Any, where: str) -> Errors:
    for gate, place in each(parts(gates), where):
        kind = text(gate, "conditionType")
        yield from faulty(f"{place}.conditionType", kind, qualified_faults(kind))


def _scheduling_gates(gates: Any, where: str) -> Errors:
    for gate, place in each(parts(gates), where):
        name = text(gate, "name")
        yield from faulty(place, name, qualified_faults(name))


def _spread(constraints: Any, where: str) -> Errors:
    return spread_errors(parts(constraints), where)


def _subdomain(name: Any, where: str) -> Errors:
    return faulty(where, name, subdomain_faults(str(name)))


def _label(name: Any, where: str) -> Errors:
    return faulty(where, name, label_faults(str(name)))


def _deadline(seconds: Any, where: str) -> Errors:
    if isinstance(seconds, int) and not 1 <= seconds <= _DEADLINE_MAX:
        return [invalid(where, seconds, f"must be between 1 and {_DEADLINE_MAX}, inclusive")]
    return []


def _tolerations(tolerations: Any, where: str) -> Errors:
    return toleration_errors(parts(tolerations), where)


def _host_aliases(aliases: Any, where: str) -> Errors:
    for alias, place in each(parts(aliases), where):
        yield from address_errors(text(alias, "ip"), f"{place}.ip")
        for index, host in enumerate(items(alias, "hostnames")):
            yield from _subdomain(host, f"{place}.hostnames[{index}]")


def _preemption(policy: Any, where: str) -> Errors:
    return [] if policy in _PREEMPTION else [not_supported(where, policy, _PREEMPTION)]


def _system(system: Any, where: str) -> Errors:
    name = text(system, "name")
    if not name:
        return [required(f"{where}.name", "cannot be empty")]
    return [] if name in _SYSTEMS else [not_supported(where, name, _SYSTEMS)]


# Rules that look at other fields too are given the whole spec.
_OF_THE_WHOLE = frozenset(["shareProcessNamespace", "dnsPolicy"])
# In the order in which Kubernetes looks at them.
_RULES: tuple[tuple[str, Rule], ...] = (
    ("nodeSelector", label_errors),
    ("securityContext", pod_security_errors),
    ("shareProcessNamespace", _shared_processes),
    ("affinity", affinity_errors),
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
