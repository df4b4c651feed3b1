"""What this program asks of a host, part by part, and the roles that allow exactly that.

One table comes first; the rules of roles follow from it, for `atoll install` and for the chart.
Tests run a plane with nothing but these rights, and find each of them used; one that only trouble
calls for says so. Templates are of any kind, so one rule is wide: it reads and labels them and
writes the summed status, but makes and deletes none. Whoever propagates fewer kinds may name them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from atoll.hosting.electing import SEAT
from atoll.hosting.installation import NAME, SERVING_SECRET, Rights
from atoll.hosting.place import OUTSIDE
from atoll.hosting.registering import API_SERVICE, definitions, roles
from atoll.hosting.translating import KEPT, SHOWN
from atoll.members.certifying import SIGNER

_ADMISSION = "admissionregistration.k8s.io"
_CERTIFICATES = "certificates.k8s.io"
_AGGREGATION = "apiregistration.k8s.io"
_EXTENSIONS = "apiextensions.k8s.io"
_LEASES = "coordination.k8s.io"
_RBAC = "rbac.authorization.k8s.io"
_APPS, _CONFIG, _PLACEMENT, _POLICY, _WORK = (
    *("apps.karmada.io", "config.karmada.io", "placement.atoll.io"),
    *("policy.karmada.io", "work.karmada.io"),
)
_FOLLOW = ("list", "watch")
_APPLIED = "to apply what is not there is to make it, which the log of a host calls a patch"
_LOOKED = "looked at after a write of which nobody heard whether it took effect"

ANY: Sequence[tuple[str, str]] = (("*", "*"),)
"""Every kind there is or will be; a role has no words for all kinds but some."""


@dataclass(frozen=True, slots=True)
class Right:
    """What one part may do to resources of a group; with `names`, only to those of a name.

    `rarely` says why it is needed although no ordinary day shows it.
    """

    part: str
    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()
    rarely: str = ""


def at_home() -> Iterator[Right]:
    """What is asked of the namespace that it lives in."""
    yield Right("election", _LEASES, ("leases",), ("create",))
    yield Right("election", _LEASES, ("leases",), ("get", *_FOLLOW, "update"), (SEAT.name,))
    yield Right("certificates", "", ("secrets",), ("create",))
    yield Right("certificates", "", ("secrets",), ("get",), (SERVING_SECRET,))
    renewed = "certificates are renewed long before they end"
    yield Right("certificates", "", ("secrets",), ("update",), (SERVING_SECRET,), renewed)


def outside() -> Iterator[Right]:
    """What is asked besides by a program that does not run in a pod of the host."""
    yield Right("registration", "", ("services",), ("create",), rarely=_APPLIED)
    yield Right("registration", "", ("services",), ("patch",), (OUTSIDE,))
    yield Right("agents", "", ("configmaps",), ("create",))


def everywhere(templates: Sequence[tuple[str, str]] = ANY) -> Iterator[Right]:
    """What is asked of the whole host.

    `templates` are groups and resources that are propagated; `/status`, where theirs is summed.
    """
    yield from _registration()
    yield from _serving()
    yield from _agents()
    yield from _own_kinds()
    yield from _places()
    for group, resource in templates:
        if "/" in resource:
            yield Right("templates", group, (resource,), ("update",))
        else:
            yield Right("templates", group, (resource,), (*_FOLLOW, "update"))
            yield Right("templates", group, (resource,), ("get",), rarely=_LOOKED)


def _registration() -> Iterator[Right]:
    """Telling the host of our kinds, our API and our webhooks."""
    ours = tuple(sorted(wire["metadata"]["name"] for _, wire in definitions()))
    kinds, part = ("customresourcedefinitions",), "registration"
    yield Right(part, _EXTENSIONS, kinds, ("get",), (*ours, SHOWN.collection))
    yield Right(part, _EXTENSIONS, kinds, ("patch",), ours)
    yield Right(part, _AGGREGATION, ("apiservices",), ("get", "patch"), (API_SERVICE,))
    for resource, given in _given().items():
        yield Right(part, _RBAC, (resource,), ("get",), given)
    hooks = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
    yield Right(part, _ADMISSION, hooks, ("patch",), (NAME,))
    yield Right(part, "", ("namespaces",), ("patch",))
    for group, made in (
        (_EXTENSIONS, kinds),
        (_AGGREGATION, ("apiservices",)),
        (_ADMISSION, hooks),
        ("", ("namespaces",)),
    ):
        yield Right(part, group, made, ("create",), rarely=_APPLIED)


def _given() -> dict[str, tuple[str, ...]]:
    """The roles of agents and people, which we look for; an administrator gives them."""
    found: dict[str, tuple[str, ...]] = {}
    for path, wire in roles():
        resource = path.split("/")[-2]
        found[resource] = (*found.get(resource, ()), wire["metadata"]["name"])
    return found


def _agents() -> Iterator[Right]:
    """What clusters that register by themselves need: to know the host, and a certificate."""
    requests = "certificatesigningrequests"
    yield Right("agents", _CERTIFICATES, (requests,), _FOLLOW)
    yield Right("agents", _CERTIFICATES, (f"{requests}/approval",), ("patch",))
    part = "whoever approves a request must be allowed this too, which no log tells"
    yield Right("agents", _CERTIFICATES, ("signers",), ("approve",), (SIGNER,), part)
    yield Right("agents", "authorization.k8s.io", ("subjectaccessreviews",), ("create",))
    yield Right("agents", "", ("configmaps",), _FOLLOW, ("cluster-info",))
    signed = "most hosts sign it themselves"
    yield Right("agents", "", ("configmaps",), ("update",), ("cluster-info",), signed)


def _serving() -> Iterator[Right]:
    """Clusters are written by us for whoever the host let in; the way to them is theirs to use."""
    records, status = (KEPT.plural,), (f"{KEPT.plural}/status",)
    verbs = ("get", *_FOLLOW, "create", "update", "patch", "delete", "deletecollection")
    yield Right("clusters", KEPT.group, records, verbs)
    yield Right("clusters", KEPT.group, status, ("get", "update", "patch"))
    yield Right("proxy", "", ("secrets",), ("get",))
    yield Right("proxy", _RBAC, ("clusterroles", "clusterrolebindings"), _FOLLOW)
    reviews, seldom = ("tokenreviews",), "when somebody reads our numbers"
    yield Right("metrics", "authentication.k8s.io", reviews, ("create",), rarely=seldom)
    yield Right("admission", _CONFIG, ("resourceinterpretercustomizations",), ("list",))


def _own_kinds() -> Iterator[Right]:
    """What the controllers make of the plane's own kinds."""
    claiming = ("propagationpolicies", "clusterpropagationpolicies")
    yield Right("detection", _POLICY, claiming, (*_FOLLOW, "update"))
    rules = ("overridepolicies", "clusteroverridepolicies", "clustertaintpolicies")
    yield Right("propagation", _POLICY, rules, _FOLLOW)
    bindings = ("resourcebindings", "clusterresourcebindings")
    yield Right("propagation", _WORK, bindings, (*_FOLLOW, "create", "update"))
    yield Right("propagation", _WORK, tuple(f"{each}/status" for each in bindings), ("update",))
    yield Right("propagation", _WORK, ("works",), (*_FOLLOW, "create", "update", "delete"))
    yield Right("execution", _WORK, ("works/status",), ("update",))
    rebalancers = ("workloadrebalancers",)
    yield Right("rebalancing", _APPS, rebalancers, (*_FOLLOW, "delete"))
    yield Right("rebalancing", _APPS, ("workloadrebalancers/status",), ("update",))
    told = ("explanations", "clusterexplanations")
    yield Right("placement", _PLACEMENT, told, ("create",))
    twice = "of a binding that is decided about more than once"
    yield Right("placement", _PLACEMENT, told, ("update",), rarely=twice)
    anew = "of a binding that is made anew before its explanation is gone"
    yield Right("placement", _PLACEMENT, told, ("get", "delete"), rarely=anew)
    yield Right("placement", _PLACEMENT, ("clusterprices", "clusternodes"), _FOLLOW)
    yield Right("placement", _PLACEMENT, ("clusterprices/status",), ("update",))
    meanings = ("resourceinterpretercustomizations", "resourceinterpreterwebhookconfigurations")
    yield Right("interpretation", _CONFIG, meanings, _FOLLOW)
    for group, kinds in ((_POLICY, claiming), (_WORK, (*bindings, "works")), (_APPS, rebalancers)):
        yield Right("controllers", group, kinds, ("get",), rarely=_LOOKED)


def _places() -> Iterator[Right]:
    """What else the controllers follow or make."""
    yield Right("membership", "", ("namespaces",), (*_FOLLOW, "create", "delete"))
    yield Right("membership", "", ("namespaces",), ("get",), rarely=_LOOKED)
    # In the namespaces that Clusters name, which may be any.
    yield Right("membership", "", ("secrets",), _FOLLOW)
    yield Right("membership", _LEASES, ("leases",), _FOLLOW)
    yield Right("detection", _EXTENSIONS, ("customresourcedefinitions",), _FOLLOW)
    services = "where interpreter webhooks and estimators are, for those who have them"
    yield Right("interpretation", "", ("services",), ("list",), rarely=services)
    yield Right("events", "", ("events",), ("create",))


def rules(table: Iterable[Right]) -> list[Mapping[str, Any]]:
    """The rules of a role that allows what a table asks for, each right once."""
    verbs: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for each in table:
        for resource in each.resources:
            known = verbs.setdefault((each.group, resource, each.names), [])
            known += [verb for verb in each.verbs if verb not in known]
    resources: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (group, resource, names), allowed in verbs.items():
        resources.setdefault((group, tuple(sorted(allowed)), names), []).append(resource)
    return [
        {
            "apiGroups": [group],
            "resources": sorted(found),
            **({"resourceNames": list(names)} if names else {}),
            "verbs": list(allowed),
        }
        for (group, allowed, names), found in resources.items()
    ]


RIGHTS = Rights(everywhere=rules(everywhere()), at_home=rules(at_home()))
"""Of a program in a pod of the host, which may propagate every kind."""

RIGHTS_ELSEWHERE = Rights(everywhere=rules((*everywhere(), *outside())), at_home=rules(at_home()))
"""The same, of one that runs in another cluster."""
