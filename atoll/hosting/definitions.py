"""The definitions that a host is given: Karmada's kinds, ours, and the one that keeps Clusters.

A group that has `clusters/proxy` cannot be defined by a CRD, so Clusters are shown by our own API
(`translating`) and kept as ClusterRecords, which have the same fields. Out: whole definitions; the
older version of the bindings is served where somebody converts it, and only there.
"""

from functools import cache

from atoll.apiserver.karmada.definitions import definitions, for_kubernetes
from atoll.apiserver.placement.definitions import own_definitions
from atoll.hosting.translating import KEPT, SHOWN
from atoll.wire import Wire

_ABOUT = (
    "What is kept of a Cluster. Read and write clusters.cluster.karmada.io instead: it shows the"
    " same, and is what everybody else looks at."
)


def host_definitions(converter: Wire | None = None) -> list[Wire]:
    """Every definition; with `converter` (a webhook's clientConfig), all versions are served."""
    karmada = [each for each in definitions() if each["metadata"]["name"] != SHOWN.collection]
    return [
        *(_converted(each, converter) if converter else for_kubernetes(each) for each in karmada),
        *own_definitions(),
        record_definition(),
    ]


@cache
def cluster_definition() -> Wire:
    """The definition of Clusters, as they are shown."""
    return next(each for each in definitions() if each["metadata"]["name"] == SHOWN.collection)


@cache
def record_definition() -> Wire:
    """The definition of what is kept of them."""
    shown = cluster_definition()
    names = {
        "kind": KEPT.kind,
        "listKind": f"{KEPT.kind}List",
        "plural": KEPT.plural,
        "singular": KEPT.kind.lower(),
        "categories": ["atoll-io"],
    }
    return {
        **shown,
        "metadata": {"name": KEPT.collection},
        "spec": {
            **shown["spec"],
            "group": KEPT.group,
            "names": names,
            "versions": [_described(each) for each in shown["spec"]["versions"]],
        },
    }


def _described(version: Wire) -> Wire:
    schema = {**version["schema"]["openAPIV3Schema"], "description": _ABOUT}
    return {**version, "schema": {"openAPIV3Schema": schema}}


def _converted(definition: Wire, converter: Wire) -> Wire:
    spec = definition["spec"]
    if len(spec["versions"]) == 1:
        return definition
    webhook = {"clientConfig": converter, "conversionReviewVersions": ["v1"]}
    conversion = {"strategy": "Webhook", "webhook": webhook}
    return {**definition, "spec": {**spec, "conversion": conversion}}
