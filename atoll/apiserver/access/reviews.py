"""Questions about rights: who am I, may I, may they, whose token is this.

A review comes in and is given back with its status filled; nothing is stored. `kubectl auth whoami`
and `kubectl auth can-i` ask these, and servers that leave the deciding to this one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from atoll.apiserver.access.accounts import ISSUER
from atoll.apiserver.access.roles import Roles
from atoll.apiserver.access.rules import Rule
from atoll.apiserver.authentication import AUTHENTICATED, Bearers, Identity
from atoll.apiserver.authorization import Attributes
from atoll.apiserver.fields import error as fields
from atoll.apiserver.fields.error import FieldError
from atoll.apiserver.resource import Asked
from atoll.apiserver.status import ApiError, bad_request, invalid

Object = dict[str, Any]
Answer = Callable[[Asked], Object]

REVIEWED = ("authentication.k8s.io", "authorization.k8s.io")  # the groups of these kinds

_EITHER = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
_BOTH = "cannot be specified in combination with resourceAttributes"


@dataclass(frozen=True, slots=True)
class Reviews:
    """Answers reviews by what roles allow, and by who knows which token."""

    roles: Roles
    bearers: Bearers

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

    def _who_am_i(self, asked: Asked) -> Object:
        return {**asked.object, "status": {"userInfo": _user_info(asked.identity)}}

    def _whose_token(self, asked: Asked) -> Object:
        spec = _spec(asked)
        if not spec.get("token"):
            raise bad_request("token is required for TokenReview in authentication")
        identity = self.bearers.identity(spec["token"])
        audiences = spec.get("audiences") or [ISSUER]
        if identity is None or ISSUER not in audiences:
            return {**asked.object, "status": {"user": {}, "error": "invalid bearer token"}}
        groups = (*identity.groups, AUTHENTICATED)
        user = _user_info(Identity(identity.name, groups, identity.uid, identity.extra))
        status = {"authenticated": True, "user": user, "audiences": [ISSUER]}
        return {**asked.object, "status": status}

    def _may_i(self, asked: Asked) -> Object:
        errors = _attribute_errors(_spec(asked))
        return self._decided(asked, errors, asked.identity)

    def _may_they(self, asked: Asked) -> Object:
        spec = _spec(asked)
        errors = _attribute_errors(spec)
        if not spec.get("user") and not spec.get("groups"):
            why = "at least one of user or group must be specified"
            errors.append(fields.invalid("spec.user", "", why))
        extra = tuple((key, tuple(values)) for key, values in (spec.get("extra") or {}).items())
        groups = tuple(spec.get("groups") or ())
        they = Identity(spec.get("user", ""), groups, spec.get("uid", ""), extra)
        return self._decided(asked, errors, they)

    def _may_they_here(self, asked: Asked) -> Object:
        namespace = (_spec(asked).get("resourceAttributes") or {}).get("namespace", "")
        if namespace != asked.namespace:
            where, why = "spec.resourceAttributes.namespace", "must match metadata.namespace"
            raise _refused([fields.invalid(where, namespace, why)])
        return self._may_they(asked)

    def _decided(self, asked: Asked, errors: list[FieldError], who: Identity) -> Object:
        if errors:
            raise _refused(errors)
        decision = self.roles.decide(who, _attributes(_spec(asked)))
        reason = {"reason": decision.reason} if decision.reason else {}
        return {**asked.object, "status": {"allowed": decision.allowed, **reason}}

    def _what_may_i(self, asked: Asked) -> Object:
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
        return {**asked.object, "spec": {}, "status": status}


def _refused(errors: list[FieldError]) -> ApiError:
    # Kubernetes names neither kind nor object here.
    return invalid("", "authorization.k8s.io", "", errors)


def _spec(asked: Asked) -> Object:
    spec: Object = asked.object.get("spec") or {}
    return spec


def _user_info(identity: Identity) -> Object:
    info: Object = {"username": identity.name}
    if identity.uid:
        info["uid"] = identity.uid
    info["groups"] = list(identity.groups)
    if identity.extra:
        info["extra"] = {key: list(values) for key, values in identity.extra}
    return info


def _attribute_errors(spec: Object) -> list[FieldError]:
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and other is not None:
        shown = {"Path": other.get("path", ""), "Verb": other.get("verb", "")}
        return [fields.invalid("spec.nonResourceAttributes", shown, _BOTH)]
    if resource is None and other is None:
        return [fields.invalid("spec.resourceAttributes", None, _EITHER)]
    return []


def _attributes(spec: Object) -> Attributes:
    other = spec.get("nonResourceAttributes")
    if other is not None:
        return Attributes(other.get("verb", ""), path=other.get("path", ""))
    wanted = spec["resourceAttributes"]
    return Attributes(
        wanted.get("verb", ""),
        wanted.get("group", ""),
        wanted.get("resource", ""),
        wanted.get("namespace", ""),
        wanted.get("name", ""),
        wanted.get("subresource", ""),
    )


def _resource_rule(rule: Rule) -> Object:
    told = {
        "verbs": list(rule.verbs),
        "apiGroups": list(rule.groups),
        "resources": list(rule.resources),
    }
    return told | ({"resourceNames": list(rule.names)} if rule.names else {})
