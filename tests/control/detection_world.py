"""A plane in memory for detection: objects as on the wire, plans carried out as a server would.

Templates and policies are said in the short notation of the tests; everything else is a default.
"""

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from atoll.control.detector.decide.binding import Interpreted
from atoll.control.detector.decide.plan import SeenTemplate, plan
from atoll.control.policies import decide as policies
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects.policies import (
    API_VERSION,
    CLUSTER_POLICY,
    OVERRIDE,
    POLICY,
    decode_propagation,
)
from atoll.dialects.karmada.objects.resource_bindings import decode as decode_binding
from atoll.dialects.karmada.policy_source import KARMADA, claim_of
from atoll.dialects.policy_source import Claims
from atoll.model.action import NOTHING, Action, Create, Plan, Ref, Tell, Update
from atoll.model.policy import Claim, Policy
from atoll.scheduling.features import Features
from atoll.wire import Object

DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment"}
CLAIMS = Claims([KARMADA])
WEB = Ref("apps/v1", "Deployment", "shop", "web")
STEPS = 50


def policy_ref(name: str, namespace: str = "shop") -> Ref:
    return Ref(API_VERSION, POLICY if namespace else CLUSTER_POLICY, namespace, name)


def make_template(name: str = "web", namespace: str = "shop", **labels: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "uid": f"uid-{name}", "labels": labels}
    kind = DEPLOYMENT if namespace else {"apiVersion": "rbac/v1", "kind": "ClusterRole"}
    if namespace:
        metadata["namespace"] = namespace
    return {**kind, "metadata": metadata, "spec": {"image": "a"}}


def make_policy(
    name: str, *selectors: Object, namespace: str = "shop", uid: str = "", **spec: Any
) -> dict[str, Any]:
    """A policy for all Deployments, unless selectors are given; without namespace for the plane."""
    key, kind = names.POLICY_ID, POLICY
    finalizer = names.POLICY_FINALIZER
    if not namespace:
        key, kind = names.CLUSTER_POLICY_ID, CLUSTER_POLICY
        finalizer = names.CLUSTER_POLICY_FINALIZER
    metadata: dict[str, Any] = {
        "name": name,
        "labels": {key: uid or f"id-{name}"},
        "finalizers": [finalizer],
    }
    if namespace:
        metadata["namespace"] = namespace
    wanted = [{**DEPLOYMENT, **each} for each in selectors] or [dict(DEPLOYMENT)]
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": kind,
        "metadata": metadata,
        "spec": {"resourceSelectors": wanted, "placement": {"by": name}, **spec},
    }


def read(wire: Object) -> Policy:
    """A policy as the detector sees it."""
    return decode_propagation(wire)


class World:
    """Objects with the versions a server gives them; refuses what a server refuses."""

    def __init__(self, *objects: Object, features: Features | None = None) -> None:
        self.objects: dict[Ref, dict[str, Any]] = {}
        self.version = 0
        self.writes: list[Action] = []
        self.told: list[str] = []
        self.features = features or Features()
        self.interpreted = Interpreted(replicas=2)
        self.overrides: frozenset[str] = frozenset()
        self.priorities: dict[str, int] = {}
        for each in objects:
            self.put(each)

    def put(self, wire: Object) -> None:
        """Write an object as a user does, whatever it was."""
        new = deepcopy(dict(wire))
        new["metadata"]["resourceVersion"] = self._next()
        self.objects[Ref.of(new)] = new

    def change(self, ref: Ref, **spec: Any) -> None:
        old = self.objects[ref]
        self.put({**old, "spec": {**old["spec"], **spec}})

    def delete(self, ref: Ref) -> None:
        """Ask for the end of an object; finalizers put it off."""
        metadata = self.objects[ref]["metadata"]
        if not metadata.get("finalizers"):
            del self.objects[ref]
            return
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        metadata["resourceVersion"] = self._next()

    def copy(self) -> "World":
        return deepcopy(self)

    def kept(self, *kinds: str) -> tuple[dict[str, Any], ...]:
        return tuple(deepcopy(each) for ref, each in self.objects.items() if ref.kind in kinds)

    def seen(self, ref: Ref) -> SeenTemplate:
        """What a controller observes of a template."""
        return SeenTemplate(
            template=deepcopy(self.objects[ref]),
            claims=CLAIMS,
            policies=tuple(map(read, self.kept(POLICY, CLUSTER_POLICY))),
            binding=deepcopy(self.binding(ref)),
            interpreted=self.interpreted,
            there=frozenset(
                Ref(API_VERSION, OVERRIDE, ref.namespace, each) for each in sorted(self.overrides)
            ),
            priorities=self.priorities,
            features=self.features,
            new_id="new",
        )

    def plan(self, ref: Ref) -> Plan:
        if ref not in self.objects:
            return NOTHING
        if ref.kind in (POLICY, CLUSTER_POLICY):
            held = self.kept("Deployment", "ClusterRole")
            bindings = self.kept("ResourceBinding", "ClusterResourceBinding")
            policy = read(deepcopy(self.objects[ref]))
            seen = policies.SeenPolicy(policy, CLAIMS, held, tuple(map(decode_binding, bindings)))
            return policies.plan(seen, 0.0)
        return plan(self.seen(ref))

    def perform(self, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case Tell():
                    self.told.append(action.reason)
                case Create():
                    ref = Ref.of(action.object)
                    assert ref not in self.objects
                    self.writes.append(action)
                    self.put(action.object)
                case Update():
                    old = self.objects[Ref.of(action.object)]
                    assert action.object["metadata"]["resourceVersion"] == _version(old)
                    assert action.object != old, "a write that changes nothing"
                    self.writes.append(action)
                    self.put(action.object)
                    self._finish(Ref.of(action.object))
                case _:
                    raise AssertionError(f"detection deletes nothing: {action}")

    def settle(self) -> "World":
        """Look at everything until nothing is left to do."""
        for _ in range(STEPS):
            before = len(self.writes)
            for ref in list(self.objects):
                self.perform(self.plan(ref).actions)
            if len(self.writes) == before:
                return self
        raise AssertionError(f"no end after {STEPS} rounds: {self.writes[-4:]}")

    def binding(self, ref: Ref) -> dict[str, Any] | None:
        kind = "ResourceBinding" if ref.namespace else "ClusterResourceBinding"
        name = names.binding_name(ref.kind, ref.name)
        return self.objects.get(Ref("work.karmada.io/v1alpha2", kind, ref.namespace, name))

    def claims(self, ref: Ref) -> tuple[str | None, str | None]:
        """The names of the policies that the template and its binding belong to."""
        binding = self.binding(ref)
        of_binding = claim_of(binding) if binding else None
        return _name(claim_of(self.objects[ref])), _name(of_binding)

    def state(self) -> dict[Ref, Object]:
        """Everything but the versions, which differ with the way."""
        found = {}
        for ref, each in self.objects.items():
            plain = deepcopy(each)
            del plain["metadata"]["resourceVersion"]
            if ref.kind.endswith("ResourceBinding"):
                del plain["spec"]["resource"]["resourceVersion"]
            found[ref] = plain
        return found

    def _next(self) -> str:
        self.version += 1
        return str(self.version)

    def _finish(self, ref: Ref) -> None:
        metadata = self.objects[ref]["metadata"]
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
            del self.objects[ref]


def _version(wire: Object) -> Any:
    return wire["metadata"]["resourceVersion"]


def _name(claim: Claim | None) -> str | None:
    return claim.policy.name if claim else None
