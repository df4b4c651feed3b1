"""What a member tells of itself, as the status of a Karmada Cluster.

A member comes in; version, APIs, nodes, resources and conditions go out, or only the condition that
it cannot be reached. What was known before a cut is for whoever keeps the Cluster object to keep.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from atoll.apiserver.catalog import Index
from atoll.apiserver.discovery import legacy
from atoll.apiserver.documents import version
from atoll.apiserver.objects.conditions import condition
from atoll.apiserver.objects.times import rfc3339
from atoll.simulated.member import Member
from atoll.simulated.quantities import written_amounts

Object = dict[str, Any]

_READY = ("ClusterReady", "cluster is healthy and ready to accept workloads")
_UNREACHABLE = ("ClusterNotReachable", "cluster is not reachable")
_COMPLETE = ("Complete", "collected complete APIEnablements from the cluster")


def summary(member: Member) -> Object:
    """The member's status now."""
    since = {"lastTransitionTime": rfc3339(member.transport.since)}
    if member.transport.is_cut:
        return {"conditions": [condition("Ready", *_UNREACHABLE, holds=False) | since]}
    hosts = member.keeper.hosts
    resources = {
        "allocatable": hosts.places.capacity(),
        "allocating": hosts.missing(),
        "allocated": hosts.places.taken(),
    }
    return {
        "kubernetesVersion": version()["gitVersion"],
        "apiEnablements": enablements(member.server.api.catalog.index),
        "nodeSummary": {"totalNum": len(hosts.places.nodes), "readyNum": hosts.ready_count},
        "resourceSummary": {
            name: written_amounts(amounts) for name, amounts in resources.items() if amounts
        },
        "conditions": [
            condition("Ready", *_READY, holds=True) | since,
            condition("CompleteAPIEnablements", *_COMPLETE, holds=True) | since,
        ],
    }


def enablements(index: Index) -> list[Object]:
    """The served kinds by group and version, both in order, as discovery tells them."""
    places = (
        ("apis", group, version) if group else ("api", version) for group, version in index.versions
    )
    lists = [found for place in places if (found := legacy(index, place)) is not None]
    return [
        {"groupVersion": one["groupVersion"], "resources": _kinds(one["resources"])}
        for one in sorted(lists, key=lambda one: str(one["groupVersion"]))
    ]


def _kinds(resources: Iterable[Mapping[str, Any]]) -> list[Object]:
    """Name and kind of each resource; subresources are none of their own."""
    whole = (one for one in resources if "/" not in one["name"])
    found = [{"name": one["name"], "kind": one["kind"]} for one in whole]
    return sorted(found, key=lambda one: str(one["name"]))
