"""Built-in admission, put together: which rules look at which resource, and in which order.

A write comes in as its hooks see it. Resources that no rule is about are told apart in one look-up,
so that writing them costs nothing; the rules are in modules of their own, and know no writes.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial

import orjson

from atoll.apiserver.admission import Admission
from atoll.apiserver.admitting import births, classes, limits, pod_security, settings
from atoll.apiserver.admitting.addresses import COLLECTION as SERVICES
from atoll.apiserver.admitting.addresses import Addresses
from atoll.apiserver.admitting.refused import Refused
from atoll.apiserver.kinds.reading import part
from atoll.apiserver.objects.metadata import GENERATED_ALPHABET, metadata
from atoll.apiserver.status import ApiError, forbidden, invalid
from atoll.effects import Chance
from atoll.store.store import Store
from atoll.wire import Wire

Change = Callable[[Admission, Wire], Wire]
Check = Callable[[Admission, Wire], None]

_NOT_OF_PODS = ("binding", "eviction", "status")
PODS, CLAIMS, NODES = "pods", "persistentvolumeclaims", "nodes"
INGRESSES = "ingresses.networking.k8s.io"


class Rules:
    """The rules of one server, which go by what has been set up in it.

    `letters` makes up a part of a name; where pods run, they run as a service account.
    """

    def __init__(self, store: Store, chance: Chance, *, runs_pods: bool) -> None:
        self.settings = settings.Settings(store)
        self.addresses = Addresses(store, chance, gives_ports=runs_pods)
        self._store = store
        self._chance = chance.of("volume names")
        self._runs_pods = runs_pods
        self._changes: Mapping[str, Change] = {
            PODS: self._pod,
            CLAIMS: self._claim,
            INGRESSES: self._ingress,
            NODES: self._node,
            SERVICES: self.addresses.assigned,
        }
        self._checks: Mapping[str, Check] = {
            **dict.fromkeys(pod_security.TEMPLATES, self._check_template),
            settings.NAMESPACES: self._check_namespace,
            PODS: self._check_pod,
            CLAIMS: self._check_claim,
            settings.PRIORITY_CLASSES: self._check_priority,
        }

    @property
    def changed(self) -> Collection[str]:
        """The collections that `mutate` is about."""
        return self._changes.keys()

    @property
    def checked(self) -> Collection[str]:
        """The collections that `check` is about."""
        return self._checks.keys()

    def mutate(self, seen: Admission) -> Wire:
        """The object with all that the rules add to it."""
        assert seen.object is not None, "only creations and updates are mutated"
        change = self._changes.get(seen.resource.collection)
        if change is None:
            return seen.object
        try:
            return change(seen, seen.object)
        except Refused as refusal:
            raise _forbidden(seen, refusal) from refusal

    def check(self, seen: Admission) -> None:
        """ApiError if a rule refuses the write."""
        check = self._checks.get(seen.resource.collection)
        if check is None or seen.object is None:
            return
        try:
            check(seen, seen.object)
        except Refused as refusal:
            raise _forbidden(seen, refusal) from refusal

    def _pod(self, seen: Admission, pod: Wire) -> Wire:
        if seen.subresource:
            return pod
        if seen.old is not None:
            return births.patient(births.kept(pod, seen.old))
        return self.completed(pod, seen.namespace)

    def completed(self, pod: Wire, namespace: str) -> Wire:
        """A new pod as it is stored in this namespace; Refused if it may not be."""
        ranges = self.settings.of(settings.LIMIT_RANGES, namespace)
        if ranges:
            pod = limits.with_defaults(pod, ranges.values())
        if self._runs_pods:
            pod = births.running_as(pod, partial(self._account, namespace), self._letters)
        pod = births.prioritized(pod, self.settings.of(settings.PRIORITY_CLASSES))
        return births.with_runtime(births.patient(pod), self.settings.of(settings.RUNTIME_CLASSES))

    def _account(self, namespace: str, name: str) -> Wire | None:
        record = self._store.latest("serviceaccounts", f"{namespace}/{name}")
        if record is not None:
            found: Wire = orjson.loads(record.value)
            return found
        # In a namespace that was made a moment ago it is about to be there.
        return {} if name == births.DEFAULT else None

    def _letters(self) -> str:
        return "".join(self._chance.choices(GENERATED_ALPHABET, k=5))

    def _claim(self, seen: Admission, claim: Wire) -> Wire:
        if seen.subresource or seen.old is not None:
            return claim
        return classes.with_storage_class(claim, self.settings.of(settings.STORAGE_CLASSES))

    def _ingress(self, seen: Admission, ingress: Wire) -> Wire:
        if seen.subresource or seen.old is not None:
            return ingress
        return classes.with_ingress_class(ingress, self.settings.of(settings.INGRESS_CLASSES))

    def _node(self, seen: Admission, node: Wire) -> Wire:
        return births.not_ready(node) if seen.old is None else node

    def _check_pod(self, seen: Admission, pod: Wire) -> None:
        policy = self.settings.policies.get(seen.namespace)
        if policy is not None and _is_looked_at(seen, pod):
            _warn(seen, pod_security.check(pod, policy, enforces=True))
        if seen.old is None and not seen.subresource:
            self.check_new(pod, seen.namespace)
        elif seen.subresource == "resize":
            limits.check_pod(pod, self.settings.of(settings.LIMIT_RANGES, seen.namespace).values())

    def check_new(self, pod: Wire, namespace: str) -> None:
        """Refused if a new pod may not be in this namespace."""
        limits.check_pod(pod, self.settings.of(settings.LIMIT_RANGES, namespace).values())
        births.check(pod, self.settings.of(settings.RUNTIME_CLASSES))

    def _check_template(self, seen: Admission, workload: Wire) -> None:
        """Whoever makes pods is only warned: it is pods that are refused."""
        policy = self.settings.policies.get(seen.namespace)
        if policy is not None and not seen.subresource:
            made = part(workload, *pod_security.TEMPLATES[seen.resource.collection])
            _warn(seen, pod_security.check(made, policy, enforces=False))

    def _check_namespace(self, seen: Admission, namespace: Wire) -> None:
        old = seen.old
        labels = metadata(namespace).get("labels") or {}
        if seen.subresource or (old and labels == (metadata(old).get("labels") or {})):
            return
        errors = pod_security.label_errors(labels)
        before = [] if old is None else pod_security.label_errors(metadata(old).get("labels") or {})
        if errors and errors != before:
            raise invalid(seen.resource.kind, seen.resource.group, seen.name, errors)
        if old is not None:
            for warning in pod_security.tightened(namespace, old, partial(self._pods, seen.name)):
                _warn(seen, warning)

    def _pods(self, namespace: str) -> list[Wire]:
        records = self._store.page(PODS, f"{namespace}/").records
        return [orjson.loads(record.value) for record in records]

    def _check_claim(self, seen: Admission, claim: Wire) -> None:
        if seen.subresource:
            return
        limits.check_claim(claim, self.settings.of(settings.LIMIT_RANGES, seen.namespace).values())
        if seen.old is not None:
            classes.check_growth(claim, seen.old, self.settings.of(settings.STORAGE_CLASSES))

    def _check_priority(self, seen: Admission, wanted: Wire) -> None:
        known = self.settings.of(settings.PRIORITY_CLASSES)
        births.check_default(wanted, known, is_new=seen.old is None)


def _is_looked_at(seen: Admission, pod: Wire) -> bool:
    """Whether a write can make a pod violate a standard that it kept to."""
    if seen.subresource in _NOT_OF_PODS:
        return False
    return seen.old is None or pod_security.is_significant(pod, seen.old)


def _warn(seen: Admission, warning: str) -> None:
    if warning and warning not in seen.warnings:
        seen.warnings.append(warning)


def _forbidden(seen: Admission, refusal: Refused) -> ApiError:
    return forbidden(seen.resource.plural, seen.resource.group, seen.name, str(refusal))
