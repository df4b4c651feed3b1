"""Admission policies at work: which are about a write, what they refuse, and what they change.

An evaluation is bounded in steps, and waits for nobody.
"""

from collections.abc import Iterator

import orjson

from atoll.apiserver.admission import Admission, Fit
from atoll.apiserver.audit.annotating import annotate
from atoll.apiserver.authorization import Authorize
from atoll.apiserver.conditions import evaluated
from atoll.apiserver.kinds.labels import selector_of
from atoll.apiserver.kinds.reading import given, text
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.policies.outcomes import Refused, mutated_by, validated
from atoll.apiserver.policies.policy import Binding, Constraints, Policy
from atoll.apiserver.resource import Resource
from atoll.apiserver.status import forbidden, not_found
from atoll.apiserver.verbs.call import Api, object_key
from atoll.apiserver.webhooks.configured import Configured
from atoll.apiserver.webhooks.reviews import Seen, request_of
from atoll.apiserver.webhooks.views import seen_by, with_object
from atoll.wire import Wire


class Misconfigured(Exception):
    """A binding refers to parameters in a way that makes no sense, or to none that must be."""


def params_of(
    api: Api, policy: Policy, binding: Binding, admission: Admission
) -> list[Wire | None]:
    """The parameters to evaluate a policy with, one after the other; [None] if it has none."""
    kind, wanted = policy.param_kind, binding.params
    if kind is None or wanted is None:
        return [None]
    group, _, version = text(kind, "apiVersion").rpartition("/")
    resource = api.catalog.kind(group, version, text(kind, "kind"))
    if resource is None:
        said = f"{text(kind, 'apiVersion')}, Kind={text(kind, 'kind')}"
        raise Misconfigured(f"failed to find resource referenced by paramKind: '{said}'")
    found = _found(api, resource, wanted, _namespace(resource, wanted, admission))
    if not found and text(wanted, "parameterNotFoundAction") == "Deny":
        why = "no params found for policy binding with `Deny` parameterNotFoundAction"
        raise Misconfigured(why)
    return [*found]


def _namespace(resource: Resource, wanted: Wire, admission: Admission) -> str:
    said = text(wanted, "namespace")
    if not resource.namespaced:
        if said:
            raise Misconfigured(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
            )
        return ""
    inside = admission.namespace
    if admission.resource.collection == "namespaces":
        inside = admission.name
    if not said and not inside:
        raise Misconfigured(
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        )
    return said or inside


def _found(api: Api, resource: Resource, wanted: Wire, namespace: str) -> list[Wire]:
    name, selector = text(wanted, "name"), given(wanted, "selector")
    if name:
        record = api.store.latest(resource.collection, object_key(resource, namespace, name))
        return [] if record is None else [resource.from_stored(orjson.loads(record.value))]
    matches = selector_of(selector or {}).matches
    objects = [
        resource.from_stored(orjson.loads(record.value))
        for record in api.store.page(resource.collection).records
    ]
    return [
        obj
        for obj in objects
        if (not namespace or metadata(obj).get("namespace") == namespace)
        and matches(metadata(obj).get("labels") or {})
    ]


_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}
_KINDS = ("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy")


class Acting:
    """Does to writes what the policies of one server say."""

    def __init__(self, api: Api, authorize: Authorize, configured: Configured[Policy]) -> None:
        self._api = api
        self._authorize = authorize
        self._configured = configured

    async def check(self, admission: Admission) -> None:
        """ApiError if a policy refuses."""
        refusals: list[tuple[Policy, Binding, Refused]] = []
        for policy in self._configured.about(admission.resource)[1]:
            for binding, resource in self._meant(policy, admission):
                for refused in await self._refusals(policy, binding, admission, resource):
                    if refused.is_certain or "Deny" in binding.actions:
                        refusals.append((policy, binding, refused))
                    _tell(policy, binding, refused, admission)
        if refusals:
            raise _refusal(1, admission, *refusals[0])

    def _meant(self, policy: Policy, admission: Admission) -> Iterator[tuple[Binding, Resource]]:
        """The bindings by which a policy is about a write, and the version it looks at."""
        versions = self._configured.versions(admission.resource)
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

    def _namespace(self, admission: Admission) -> Wire | None:
        """The namespace of a write; a namespace is in itself."""
        if admission.resource.collection == "namespaces":
            return admission.object or admission.old
        if not admission.resource.namespaced:
            return None
        record = self._api.store.latest("namespaces", admission.namespace)
        if record is None:
            raise not_found("namespaces", "", admission.namespace)
        found: Wire = orjson.loads(record.value)
        return found

    def _asked(self, policy: Policy, seen: Seen, params: Wire | None) -> evaluated.Asked:
        """A write as the expressions of a policy see it."""
        admission = seen.admission
        request = request_of(seen, "", "v1")["request"]
        authorizer = evaluated.authorizer_of(admission, self._authorize)
        asked = evaluated.Asked(evaluated.names_of(request, seen.object, seen.old, authorizer))
        asked.names["namespaceObject"] = evaluated.namespace_object(self._namespace(admission))
        if policy.param_kind is not None:
            asked.names["params"] = params
        asked.names["variables"] = evaluated.Variables(asked, policy.variables)
        return asked

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

    async def mutated(self, admission: Admission, fit: Fit) -> Wire:
        """The object as policies want it; `fit` makes a proper object of what they changed."""
        assert admission.object is not None, "only creations and updates are mutated"
        policies = self._configured.about(admission.resource)[0]
        asked: list[Policy] = []
        again: set[Policy] = set()
        for policy in policies:
            changed = await self._changed_by(policy, admission, fit)
            if changed is not admission.object:
                admission = with_object(admission, changed)
                again |= {one for one in asked if one.is_called_again}
            asked.append(policy)
        for policy in policies:
            if policy in again:
                admission = with_object(admission, await self._changed_by(policy, admission, fit))
        assert admission.object is not None
        return admission.object

    async def _changed_by(self, policy: Policy, admission: Admission, fit: Fit) -> Wire:
        for binding, resource in self._meant(policy, admission):
            try:
                for params in params_of(self._api, policy, binding, admission):
                    seen = await seen_by(self._api, admission, resource, mutating=True)
                    asked = self._asked(policy, seen, params)
                    obj = await mutated_by(self._api, policy, seen, asked)
                    if obj is not None:
                        admission = with_object(admission, fit(obj))
            except (Misconfigured, evaluated.Unanswered) as fault:
                if policy.fails_open:
                    continue
                configured = isinstance(fault, Misconfigured)
                said = f"failed to configure binding: {fault}" if configured else str(fault)
                refused = Refused(said, "Invalid", is_certain=True)
                raise _refusal(0, admission, policy, binding, refused) from fault
        assert admission.object is not None
        return admission.object


def _tell(policy: Policy, binding: Binding, refused: Refused, admission: Admission) -> None:
    """Warn of a refusal and record it, as its binding wants."""
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
