"""Nobody gives away more than they have: the rule for whoever writes roles and bindings.

An admission hook. A role may only allow what its writer is allowed; a role may only be bound by
somebody who is allowed all of it. The verbs `escalate` and `bind` lift this, and administrators
are above it.
"""

from dataclasses import dataclass

from atoll.apiserver.access.roles import GROUP, Roles, role_of
from atoll.apiserver.access.rules import Rule, described, quoted, rule_of, rules_of, uncovered
from atoll.apiserver.admission import Admission
from atoll.apiserver.authentication import MASTERS
from atoll.apiserver.authorization import Attributes, may
from atoll.apiserver.status import ApiError, forbidden, not_found
from atoll.wire import Wire

_PLURALS = {"Role": "roles", "ClusterRole": "clusterroles"}
_EVERYTHING = (
    rule_of({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}),
    rule_of({"verbs": ["*"], "nonResourceURLs": ["*"]}),
)


@dataclass(frozen=True, slots=True)
class Escalation:
    """Refuses writes that would give away what the writer does not have."""

    roles: Roles

    def __call__(self, seen: Admission) -> None:
        """ApiError 403 if a role or binding goes beyond its writer."""
        if seen.resource.group != GROUP or seen.object is None or MASTERS in seen.identity.groups:
            return
        if seen.old is not None and _only_lets_go(seen.object, seen.old):
            return
        if seen.resource.kind in _PLURALS:
            self._check_role(seen, seen.object)
        else:
            self._check_binding(seen, seen.object)

    def _check_role(self, seen: Admission, role: Wire) -> None:
        wanted = Attributes("escalate", GROUP, seen.resource.plural, seen.namespace, seen.name)
        if may(self.roles.authorize, seen.identity, wanted):
            return
        self._check_rules(seen, rules_of(role))
        if role.get("aggregationRule") and uncovered(
            self.roles.rules_for(seen.identity, ""), _EVERYTHING
        ):
            why = "must have cluster-admin privileges to use the aggregationRule"
            raise _refused(seen, why)

    def _check_binding(self, seen: Admission, binding: Wire) -> None:
        role = role_of(binding)
        plural = _PLURALS[role.kind]
        wanted = Attributes("bind", GROUP, plural, seen.namespace, role.name)
        if may(self.roles.authorize, seen.identity, wanted):
            return
        rules = self.roles.rules(role)
        if rules is None:
            raise not_found(seen.resource.plural, GROUP, role.name)
        self._check_rules(seen, rules)

    def _check_rules(self, seen: Admission, rules: tuple[Rule, ...]) -> None:
        identity = seen.identity
        missing = uncovered(self.roles.rules_for(identity, seen.namespace), rules)
        if missing:
            parts = "\n".join(sorted(map(described, missing)))
            raise _refused(
                seen,
                f'user "{identity.name}" (groups={quoted(identity.groups)}) is attempting to grant'
                f" RBAC permissions not currently held:\n{parts}",
            )


def _refused(seen: Admission, why: str) -> ApiError:
    return forbidden(seen.resource.plural, GROUP, seen.name, why)


def _only_lets_go(new: Wire, old: Wire) -> bool:
    """Whether nothing changed but what garbage collection needs in order to end an object."""
    return _without_holders(new) == _without_holders(old)


def _without_holders(obj: Wire) -> Wire:
    ignored = ("finalizers", "ownerReferences", "managedFields", "resourceVersion", "generation")
    meta = {key: value for key, value in obj["metadata"].items() if key not in ignored}
    return {**obj, "metadata": meta}
