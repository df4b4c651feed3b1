"""Admission policies at work: which are about a write, what they refuse, and what they change.

What is configured is followed in the store and kept by resource, so that a write no policy is about
costs one look. An evaluation is bounded in steps, and waits for nobody.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import orjson

from atoll.apiserver.admission import Admission, Fit, Outside
from atoll.apiserver.audit.annotating import annotate
from atoll.apiserver.authorization import Authorize
from atoll.apiserver.conditions.evaluated import (
    Asked,
    Unanswered,
    Variables,
    authorizer_of,
    namespace_object,
)
from atoll.apiserver.conditions.evaluated import names_of as named_in
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.policies.mutating import mutated
from atoll.apiserver.policies.params import Misconfigured, params_of
from atoll.apiserver.policies.policy import Binding, Constraints, Policy, policies_of
from atoll.apiserver.policies.validating import Refused, validated
from atoll.apiserver.resource import Resource
from atoll.apiserver.status import forbidden, not_found
from atoll.apiserver.verbs.call import Api
from atoll.apiserver.webhooks.hooks import GROUP
from atoll.apiserver.webhooks.reviews import Seen, request_of
from atoll.apiserver.webhooks.views import seen_by
from atoll.store.record import Event

Object = dict[str, Any]
Policies = tuple[tuple[Policy, ...], tuple[Policy, ...]]

_COLLECTIONS = tuple(
    (f"{sort}admissionpolicies.{GROUP}", f"{sort}admissionpolicybindings.{GROUP}")
    for sort in ("mutating", "validating")
)
_EVERY = frozenset(collection for pair in _COLLECTIONS for collection in pair)
_KNOWN_MAX = 4096
_NONE: Policies = ((), ())
_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}
_KINDS = ("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy")
# What is asked and never stored is answered whatever policies say.
_EXEMPT = frozenset(["authentication.k8s.io", "authorization.k8s.io", GROUP])


class AdmissionPolicies:
    """The admission policies of one server, asked before `others` outside are."""

    def __init__(self, api: Api, authorize: Authorize, others: Outside) -> None:
        self._api = api
        self._authorize = authorize
        self._others = others
        self._policies: Policies = _NONE
        self._is_idle = True
        self._known: dict[Resource, Policies] = {}

    def load(self) -> None:
        """Know what is configured."""
        mutating, validating = (
            tuple(policies_of(self._stored(policies), self._stored(bindings)))
            for policies, bindings in _COLLECTIONS
        )
        self._policies = (mutating, validating)
        self._is_idle = not mutating and not validating
        self._known = {}

    def follow(self, events: Sequence[Event]) -> None:
        if any(event.after.collection in _EVERY for event in events):
            self.load()

    async def run(self) -> None:
        """Nothing is kept up: what is configured is followed as it changes."""
        await asyncio.Event().wait()

    def _stored(self, collection: str) -> list[Object]:
        return [orjson.loads(record.value) for record in self._api.store.page(collection).records]

    def concerns(self, resource: Resource) -> bool:
        if not self._is_idle and self._about(resource) is not _NONE:
            return True
        return self._others.concerns(resource)

    async def mutated(self, admission: Admission, fit: Fit) -> Object:
        obj = await self._changed(admission, fit)
        if self._others.concerns(admission.resource):
            return await self._others.mutated(_with(admission, obj), fit)
        return obj

    async def check(self, admission: Admission) -> None:
        await self._check(admission)
        if self._others.concerns(admission.resource):
            await self._others.check(admission)

    def _about(self, resource: Resource) -> Policies:
        known = self._known.get(resource)
        if known is None:
            if len(self._known) > _KNOWN_MAX:  # of definitions that have changed since
                self._known.clear()
            known = self._known[resource] = self._found(resource)
        return known

    def _found(self, resource: Resource) -> Policies:
        if resource.group in _EXEMPT:
            return _NONE
        versions = self._versions(resource)
        mutating, validating = (
            tuple(policy for policy in policies if policy.constraints.may_want(versions))
            for policies in self._policies
        )
        return (mutating, validating) if mutating or validating else _NONE

    def _versions(self, resource: Resource) -> list[Resource]:
        every = self._api.catalog.index.resources
        others = [
            one for one in every if one.collection == resource.collection and one is not resource
        ]
        return [resource, *others]

    def _meant(self, policy: Policy, admission: Admission) -> Iterator[tuple[Binding, Resource]]:
        """The bindings by which a policy is about a write, and the version it looks at."""
        versions = self._versions(admission.resource)
        resource = policy.constraints.wants(admission, versions)
        if resource is None or not self._in_namespace(policy.constraints, admission):
            return
        for binding in policy.bindings:
            chosen = binding.constraints.wants(admission, versions)
            if chosen is not None and self._in_namespace(binding.constraints, admission):
                yield binding, resource

    def _in_namespace(self, constraints: Constraints, admission: Admission) -> bool:
        if not constraints.namespaces:
            return True
        namespace = self._namespace(admission)
        if namespace is None:
            return not admission.resource.namespaced
        return constraints.namespaces.matches(metadata(namespace).get("labels") or {})

    def _namespace(self, admission: Admission) -> Object | None:
        """The namespace of a write; a namespace is in itself."""
        if admission.resource.collection == "namespaces":
            return admission.object or admission.old
        if not admission.resource.namespaced:
            return None
        record = self._api.store.latest("namespaces", admission.namespace)
        if record is None:
            raise not_found("namespaces", "", admission.namespace)
        found: Object = orjson.loads(record.value)
        return found

    def _asked(self, policy: Policy, seen: Seen, params: Object | None) -> Asked:
        """A write as the expressions of a policy see it."""
        admission = seen.admission
        request = request_of(seen, "", "v1")["request"]
        authorizer = authorizer_of(admission, self._authorize)
        asked = Asked(named_in(request, seen.object, seen.old, authorizer))
        asked.names["namespaceObject"] = namespace_object(self._namespace(admission))
        if policy.param_kind is not None:
            asked.names["params"] = params
        asked.names["variables"] = Variables(asked, policy.variables)
        return asked

    async def _check(self, admission: Admission) -> None:
        refusals: list[tuple[Policy, Binding, Refused]] = []
        for policy in self._about(admission.resource)[1]:
            for binding, resource in self._meant(policy, admission):
                for refused in await self._refusals(policy, binding, admission, resource):
                    self._follow_up(policy, binding, refused, admission, refusals)
        if refusals:
            raise _refusal(1, admission, *refusals[0])

    async def _refusals(
        self, policy: Policy, binding: Binding, admission: Admission, resource: Resource
    ) -> list[Refused]:
        try:
            every = params_of(self._api, policy, binding, admission)
        except Misconfigured as fault:
            if policy.fails_open:
                return []
            return [Refused(f"failed to configure binding: {fault}", "Invalid", is_certain=True)]
        seen = await seen_by(self._api, admission, resource, mutating=False)
        asked = [self._asked(policy, seen, params) for params in every]
        return [refused for each in asked for refused in validated(policy, each)]

    def _follow_up(
        self,
        policy: Policy,
        binding: Binding,
        refused: Refused,
        admission: Admission,
        refusals: list[tuple[Policy, Binding, Refused]],
    ) -> None:
        """What a binding wants done about a refusal."""
        if refused.is_certain or "Deny" in binding.actions:
            refusals.append((policy, binding, refused))
        if "Warn" in binding.actions:
            admission.warnings.append(
                f"Validation failed for ValidatingAdmissionPolicy '{policy.name}' with binding"
                f" '{binding.name}': {refused.message}"
            )
        if "Audit" in binding.actions:
            failure = {
                "message": refused.message,
                "policy": policy.name,
                "binding": binding.name,
                "expressionIndex": refused.index,
                "validationActions": sorted(binding.actions),
            }
            told = orjson.dumps([failure]).decode()
            annotate("validation.policy.admission.k8s.io/validation_failure", told)

    async def _changed(self, admission: Admission, fit: Fit) -> Object:
        assert admission.object is not None, "only creations and updates are mutated"
        policies = self._about(admission.resource)[0]
        asked: list[Policy] = []
        again: set[Policy] = set()
        for policy in policies:
            changed = await self._changed_by(policy, admission, fit)
            if changed is not admission.object:
                admission = _with(admission, changed)
                again |= {one for one in asked if one.is_called_again}
            asked.append(policy)
        for policy in policies:
            if policy in again:
                admission = _with(admission, await self._changed_by(policy, admission, fit))
        assert admission.object is not None
        return admission.object

    async def _changed_by(self, policy: Policy, admission: Admission, fit: Fit) -> Object:
        for binding, resource in self._meant(policy, admission):
            try:
                for params in params_of(self._api, policy, binding, admission):
                    seen = await seen_by(self._api, admission, resource, mutating=True)
                    asked = self._asked(policy, seen, params)
                    obj = await mutated(self._api, policy, seen, asked)
                    if obj is not None:
                        admission = _with(admission, fit(obj))
            except (Misconfigured, Unanswered) as fault:
                if policy.fails_open:
                    continue
                configured = isinstance(fault, Misconfigured)
                said = f"failed to configure binding: {fault}" if configured else str(fault)
                refused = Refused(said, "Invalid", is_certain=True)
                raise _refusal(0, admission, policy, binding, refused) from fault
        assert admission.object is not None
        return admission.object


def _with(admission: Admission, obj: Object) -> Admission:
    return replace(admission, object=obj)


def _refusal(
    which: int, admission: Admission, policy: Policy, binding: Binding, refused: Refused
) -> Exception:
    said = (
        f"{_KINDS[which]} '{policy.name}' with binding '{binding.name}' denied request:"
        f" {refused.message}"
    )
    resource = admission.resource
    name = "" if admission.is_unnamed else admission.name
    error = forbidden(resource.plural, resource.group, name, said, [{"message": said}])
    error.reason, error.code = refused.reason, _CODES.get(refused.reason, 422)
    return error
