"""The authorizer: what roles allow to whom they are bound.

Committed events of roles and bindings come in and keep an index by subject, so that a question
looks only at what is bound to the one who asks. Administrators take no lookup at all.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson

from atoll.apiserver.access.accounts import user_name
from atoll.apiserver.access.rules import Rule, rules_of
from atoll.apiserver.authentication import MASTERS, Identity
from atoll.apiserver.authorization import Attributes, refusal
from atoll.apiserver.status import not_found
from atoll.store.record import Event, Record
from atoll.store.store import Store
from atoll.wire import Wire

GROUP = "rbac.authorization.k8s.io"
ROLES = (f"roles.{GROUP}", f"clusterroles.{GROUP}")
BINDINGS = (f"rolebindings.{GROUP}", f"clusterrolebindings.{GROUP}")
RIGHTS = (*ROLES, *BINDINGS)
# Health is asked for by whoever starts us, long before there are roles.
_ALWAYS = frozenset(["/healthz", "/livez", "/readyz"])
_ALLOWED_MAX = 4096


@dataclass(frozen=True, slots=True)
class RoleName:
    """Where a role is; a ClusterRole has no namespace."""

    kind: str
    namespace: str
    name: str

    @property
    def missing(self) -> str:
        """What is said of a binding to a role that is not there."""
        return not_found(self.kind.lower(), GROUP, self.name).message


@dataclass(frozen=True, slots=True)
class Bound:
    """A role that a subject has, and how that is told."""

    role: RoleName
    told: str


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether something is allowed, and why, or what stood in the way."""

    allowed: bool
    reason: str = ""


_Bindings = dict[str, Bound]


class Roles:
    """Roles by name, and bindings by subject and by the namespace they are good for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rules: dict[RoleName, tuple[Rule, ...]] = {}
        self._bound: dict[str, dict[str, _Bindings]] = {}
        self._subjects: dict[str, tuple[str, tuple[str, ...]]] = {}  # of each binding
        # What was allowed since roles and bindings last changed.
        self._allowed: set[tuple[Identity, Attributes]] = set()
        self._take: Mapping[str, Callable[[Record, Wire | None], None]] = {
            **dict.fromkeys(ROLES, self._take_role),
            **dict.fromkeys(BINDINGS, self._take_binding),
        }

    def load(self) -> None:
        for collection, take in self._take.items():
            for record in self._store.page(collection).records:
                take(record, orjson.loads(record.value))

    def follow(self, events: Sequence[Event]) -> None:
        for event in events:
            take = self._take.get(event.after.collection)
            if take is not None:
                self._allowed.clear()
                take(event.after, None if event.removed else orjson.loads(event.after.value))

    def _take_role(self, record: Record, role: Wire | None) -> None:
        name = _role_name(record)
        if role is None:
            self._rules.pop(name, None)
        else:
            self._rules[name] = rules_of(role)

    def _take_binding(self, record: Record, binding: Wire | None) -> None:
        key = f"{record.collection}/{record.name}"
        namespace, subjects = self._subjects.pop(key, ("", ()))
        for subject in subjects:
            del self._bound[subject][namespace][key]
            if not self._bound[subject][namespace]:
                del self._bound[subject][namespace]
        if binding is None:
            return
        namespace = binding["metadata"].get("namespace", "")
        told = dict(_subjects_of(binding, namespace))
        self._subjects[key] = (namespace, tuple(told))
        for subject, how in told.items():
            bound = Bound(role_of(binding), how)
            self._bound.setdefault(subject, {}).setdefault(namespace, {})[key] = bound

    def authorize(self, identity: Identity, wanted: Attributes) -> None:
        """ApiError 403 unless a role allows this identity to do this."""
        if MASTERS in identity.groups or wanted.path in _ALWAYS:
            return
        asked = (identity, wanted)
        if asked in self._allowed:
            return
        decision = self.decide(identity, wanted)
        if not decision.allowed:
            raise refusal(identity, wanted, decision.reason)
        if len(self._allowed) == _ALLOWED_MAX:
            self._allowed.clear()
        self._allowed.add(asked)

    def decide(self, identity: Identity, wanted: Attributes) -> Decision:
        """Whether this identity may do this, and by which binding."""
        if MASTERS in identity.groups:
            return Decision(allowed=True)
        missing: dict[str, None] = {}
        for bound in self._bindings(identity, wanted.namespace):
            rules = self._rules.get(bound.role)
            if rules is None:
                missing[bound.role.missing] = None
            elif any(rule.allows(wanted) for rule in rules):
                return Decision(allowed=True, reason=f"RBAC: allowed by {bound.told}")
        told = next(iter(missing)) if len(missing) == 1 else f"[{', '.join(missing)}]"
        return Decision(allowed=False, reason=f"RBAC: {told}" if missing else "")

    def rules(self, role: RoleName) -> tuple[Rule, ...] | None:
        """The rules of a role; None if there is no such role."""
        return self._rules.get(role)

    def rules_for(self, identity: Identity, namespace: str) -> list[Rule]:
        """All that this identity is allowed in a namespace; without one, in all of them."""
        bindings = self._bindings(identity, namespace)
        return [rule for bound in bindings for rule in self._rules.get(bound.role, ())]

    def _bindings(self, identity: Identity, namespace: str) -> Iterator[Bound]:
        scopes = ("", namespace) if namespace else ("",)
        subjects = [f"User {identity.name}", *(f"Group {group}" for group in identity.groups)]
        for scope in scopes:
            for subject in subjects:
                bound = self._bound.get(subject)
                if bound is not None and scope in bound:
                    yield from bound[scope].values()


def role_of(binding: Wire) -> RoleName:
    """The role that a binding is about."""
    reference = binding["roleRef"]
    cluster = reference.get("kind") == "ClusterRole"
    namespace = "" if cluster else binding["metadata"].get("namespace", "")
    return RoleName("ClusterRole" if cluster else "Role", namespace, reference.get("name", ""))


def _role_name(record: Record) -> RoleName:
    namespace, slash, name = record.name.rpartition("/")
    return RoleName("Role" if slash else "ClusterRole", namespace, name)


def _subjects_of(binding: Wire, namespace: str) -> Iterator[tuple[str, str]]:
    """Who is bound, as identities name themselves, and how that is told."""
    role, name = binding["roleRef"], binding["metadata"]["name"]
    this = f'RoleBinding "{name}/{namespace}"' if namespace else f'ClusterRoleBinding "{name}"'
    for subject in binding.get("subjects") or ():
        kind, name = subject.get("kind"), subject.get("name", "")
        to = f'{this} of {role.get("kind")} "{role.get("name")}" to {kind}'
        if kind == "ServiceAccount":
            space = subject.get("namespace") or namespace
            yield "User " + user_name(space, name), f'{to} "{name}/{space}"'
        elif subject.get("apiGroup") == GROUP:
            yield f"{kind} {name}", f'{to} "{name}"'
