"""Questions about rights: who am I, may I, may they, whose token is this.

A review comes in and is given back with its status filled; nothing is stored. `kubectl auth whoami`
and `kubectl auth can-i` ask these, and servers that leave the deciding to this one.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from atoll.apiserver.access.accounts import ISSUER, AccountTokens
from atoll.apiserver.access.roles import Roles
from atoll.apiserver.access.rules import Rule
from atoll.apiserver.authentication import (
    AUTHENTICATED,
    Bearers,
    Identity,
    identity_in,
    user_info,
)
from atoll.apiserver.authorization import Attributes
from atoll.apiserver.fields import error as fields
from atoll.apiserver.fields.error import FieldError
from atoll.apiserver.resource import Asked
from atoll.apiserver.status import ApiError, bad_request, invalid
from atoll.dialects.kubernetes.names import label_value_faults, qualified_faults
from atoll.wire import Wire

Answer = Callable[[Asked], Wire]

REVIEWED = ("authentication.k8s.io", "authorization.k8s.io")  # the groups of these kinds

_EITHER = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
_BOTH = "cannot be specified in combination with resourceAttributes"


@dataclass(frozen=True, slots=True)
class Reviews:
    """Answers reviews by what roles allow, and by who knows which token."""

    roles: Roles
    bearers: Bearers
    accounts: AccountTokens

    def answers(self) -> Mapping[str, Answer]:
        """Who answers which kind."""
        return {
            "SelfSubjectReview": self._who_am_i,
            "TokenReview": self._whose_token,
            "SelfSubjectAccessReview": self._may_i,
            "SubjectAccessReview": self._may_they,
            "LocalSubjectAccessReview": self._may_they_here,
            "SelfSubjectRulesReview": self._what_may_i,
        }

    def _who_am_i(self, asked: Asked) -> Wire:
        told = {"userInfo": user_info(asked.identity)}
        return {**asked.object, "metadata": {"creationTimestamp": asked.now}, "status": told}

    def _whose_token(self, asked: Asked) -> Wire:
        spec = _spec(asked)
        if not spec.get("token"):
            raise bad_request("token is required for TokenReview in authentication")
        audiences = spec.get("audiences") or [ISSUER]
        identity, heard = self.accounts.to(spec["token"], audiences)
        if identity is None and ISSUER in audiences:
            identity, heard = self.bearers.identity(spec["token"]), [ISSUER]
        if identity is None:
            return {**asked.object, "status": {"user": {}, "error": "invalid bearer token"}}
        groups = (*identity.groups, AUTHENTICATED)
        user = user_info(Identity(identity.name, groups, identity.uid, identity.extra))
        status = {"authenticated": True, "user": user, "audiences": list(heard)}
        return {**asked.object, "status": status}

    def _may_i(self, asked: Asked) -> Wire:
        spec = _spec(asked)
        errors = [*_attribute_errors(spec), *_selector_errors(spec), *_metadata_errors(asked)]
        return self._decided(asked, errors, asked.identity)

    def _may_they(self, asked: Asked) -> Wire:
        return self._decided_for(asked, [*_subject_errors(_spec(asked)), *_metadata_errors(asked)])

    def _decided_for(self, asked: Asked, errors: list[FieldError]) -> Wire:
        spec = _spec(asked)
        return self._decided(asked, errors, identity_in(spec, spec.get("user", "")))

    def _may_they_here(self, asked: Asked) -> Wire:
        spec = _spec(asked)
        errors = [*_subject_errors(spec), *_metadata_errors(asked)]
        resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
        if resource is not None and resource.get("namespace", "") != asked.namespace:
            where, why = "spec.resourceAttributes.namespace", "must match metadata.namespace"
            errors.append(fields.invalid(where, resource.get("namespace", ""), why))
        if other is not None:
            why = "disallowed on this kind of request"
            errors.append(fields.invalid("spec.nonResourceAttributes", _in_go(other), why))
        return self._decided_for(asked, errors)

    def _decided(self, asked: Asked, errors: list[FieldError], who: Identity) -> Wire:
        if errors:
            raise _refused(errors)
        decision = self.roles.decide(who, _attributes(_spec(asked)))
        reason = {"reason": decision.reason} if decision.reason else {}
        return {**asked.object, "status": {"allowed": decision.allowed, **reason}}

    def _what_may_i(self, asked: Asked) -> Wire:
        namespace = _spec(asked).get("namespace")
        if not namespace:
            raise bad_request("no namespace on request")
        rules = self.roles.rules_for(asked.identity, namespace)
        status = {
            "resourceRules": [_resource_rule(rule) for rule in rules if rule.resources],
            "nonResourceRules": [
                {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.urls)}
                for rule in rules
                if rule.urls
            ],
            "incomplete": False,
        }
        return {**asked.object, "metadata": {}, "spec": {}, "status": status}


def _refused(errors: list[FieldError]) -> ApiError:
    # Kubernetes names neither kind nor object here.
    return invalid("", "authorization.k8s.io", "", errors)


def _spec(asked: Asked) -> Wire:
    spec: Wire = asked.object.get("spec") or {}
    return spec


def _attribute_errors(spec: Wire) -> list[FieldError]:
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and other is not None:
        return [fields.invalid("spec.nonResourceAttributes", _in_go(other), _BOTH)]
    if resource is None and other is None:
        return [fields.invalid("spec.resourceAttributes", None, _EITHER)]
    return []


def _in_go(attributes: Wire) -> Wire:
    """Attributes of a path, as Kubernetes shows them in messages."""
    return {"Path": attributes.get("path", ""), "Verb": attributes.get("verb", "")}


def _subject_errors(spec: Wire) -> list[FieldError]:
    errors = _attribute_errors(spec)
    if not spec.get("user") and not spec.get("groups"):
        why = "at least one of user or group must be specified"
        errors.append(fields.invalid("spec.user", "", why))
    return [*errors, *_selector_errors(spec)]


def _selector_errors(spec: Wire) -> Iterator[FieldError]:
    """What is wrong with the selectors by which a request would be narrowed."""
    wanted = spec.get("resourceAttributes") or {}
    for key in ("fieldSelector", "labelSelector"):
        selector, where = wanted.get(key), f"spec.resourceAttributes.{key}"
        if selector is None:
            continue
        raw, requirements = selector.get("rawSelector"), selector.get("requirements") or []
        if raw and requirements:
            why = "may not specified at the same time as requirements"
            yield fields.invalid(f"{where}.rawSelector", raw, why)
        if not raw and not requirements:
            why = f"when {where} is specified, requirements or rawSelector is required"
            yield fields.required(f"{where}.requirements", why)
        for index, requirement in enumerate(requirements):
            place = f"{where}.requirements[{index}]"
            yield from _requirement_errors(requirement, place, is_label=key == "labelSelector")


def _requirement_errors(requirement: Wire, where: str, *, is_label: bool) -> Iterator[FieldError]:
    key, values = requirement.get("key", ""), requirement.get("values") or []
    operator = requirement.get("operator")
    if not key and not is_label:
        yield fields.required(f"{where}.key", "must be specified")
    if operator in ("In", "NotIn") and not values:
        why = "must be specified when `operator` is 'In' or 'NotIn'"
        yield fields.required(f"{where}.values", why)
    if operator in ("Exists", "DoesNotExist") and values:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        yield fields.forbidden(f"{where}.values", why)
    if is_label:
        for fault in qualified_faults(key):
            yield fields.invalid(f"{where}.key", key, fault)
        for index, value in enumerate(values):
            for fault in label_value_faults(value):
                yield fields.invalid(f"{where}.values[{index}]", value, fault)


def _metadata_errors(asked: Asked) -> list[FieldError]:
    """A question is about nothing but what its spec says."""
    meta: Wire = asked.object.get("metadata") or {}
    if not meta.keys() - {"managedFields", "namespace"}:
        return []
    why = "must be empty except for namespace" if asked.namespace else "must be empty"
    return [fields.invalid("metadata", meta, why)]


def _attributes(spec: Wire) -> Attributes:
    other = spec.get("nonResourceAttributes")
    if other is not None:
        return Attributes(other.get("verb", ""), path=other.get("path", ""))
    wanted = spec["resourceAttributes"]
    keys = ("verb", "group", "resource", "namespace", "name", "subresource")
    return Attributes(*(wanted.get(key, "") for key in keys))


def _resource_rule(rule: Rule) -> Wire:
    told = {
        "verbs": list(rule.verbs),
        "apiGroups": list(rule.groups),
        "resources": list(rule.resources),
    }
    return told | ({"resourceNames": list(rule.names)} if rule.names else {})
