"""What a running server knows of itself, as checks of health and as numbers for Prometheus."""

from collections.abc import Callable, Iterator

from atoll.apiserver.aggregation.aggregator import Aggregator
from atoll.apiserver.health import Health
from atoll.apiserver.verbs.call import Api
from atoll.instruments.families import Family, Sample
from atoll.store.store import Store


def health_of(store: Store, is_ready: Callable[[], bool]) -> Health:
    """The checks of a server, by the names that kube-apiserver has for what they mean."""

    def stored() -> str:
        return store.refusal

    def started() -> str:
        return "" if is_ready() else "not finished"

    return Health(
        {
            "etcd": stored,
            "poststarthook/crd-informer-synced": started,
            "poststarthook/rbac/bootstrap-roles": started,
            "poststarthook/scheduling/bootstrap-system-priority-classes": started,
            "poststarthook/apiservice-registration-controller": started,
            "autoregister-completion": started,
        },
        {"etcd-readiness": stored, "informer-sync": started, "shutdown": lambda: ""},
    )


def numbers_of(api: Api, aggregator: Aggregator) -> Iterator[Family]:
    """What is stored, watched and served behind the server."""
    counts: list[Sample] = [
        ("", (("resource", name),), count) for name, count in api.store.counts().items() if count
    ]
    told = "Objects stored, by resource."
    yield "apiserver_storage_objects", "gauge", told, counts
    yield "apiserver_resource_objects", "gauge", told, _by_group(counts)
    yield "apiserver_longrunning_requests", "gauge", "Watches that are open.", _watches(api)
    absent: list[Sample] = [
        ("", (("name", remote.name),), float(not remote.available))
        for remote in aggregator.remotes.values()
    ]
    told = "Servers behind this one that cannot be asked (1), by APIService."
    yield "aggregator_unavailable_apiservice", "gauge", told, absent


def _by_group(counts: list[Sample]) -> list[Sample]:
    found: list[Sample] = []
    for added, ((_, name),), count in counts:
        plural, _, group = name.partition(".")
        found.append((added, (("group", group), ("resource", plural)), count))
    return found


def _watches(api: Api) -> Iterator[Sample]:
    for collection, count in api.watches.counts().items():
        resource = api.catalog.of_collection(collection)
        if resource is not None:
            labels = (
                ("component", "apiserver"),
                ("group", resource.group),
                ("resource", resource.plural),
                ("verb", "WATCH"),
                ("version", resource.version),
            )
            yield "", labels, count
