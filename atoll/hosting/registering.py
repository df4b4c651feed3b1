"""What a host is told of us: definitions, our API, and webhooks, as plain objects.

In: where we are, whom to trust there, and who we are. Out: objects to be applied, each with its
path, in their order. Who applies them, and what the webhooks say, is known elsewhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

import orjson

from atoll.apiserver.access.default_roles import GROUP, READ
from atoll.apiserver.karmada.agents import AGENT_ROLES, PEOPLE_ROLES
from atoll.client.collection import Collection
from atoll.dialects.karmada import names
from atoll.hosting.admitting import CONVERSION, DEFAULTS, PROTECTION, RULES
from atoll.hosting.definitions import host_definitions
from atoll.hosting.installation import METRICS, NAME
from atoll.hosting.place import Place
from atoll.hosting.translating import KEPT, SHOWN
from atoll.members.objects import NAMESPACES
from atoll.wire import Wire

DEFINITIONS = Collection(
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
API_SERVICES = Collection(
    "apiregistration.k8s.io/v1", "APIService", "apiservices", namespaced=False
)
_SERVICES = Collection("v1", "Service", "services", namespaced=True)
API_SERVICE = f"{SHOWN.version}.{SHOWN.group}"
APPLIED = f"{KEPT.group}/applied"
"""The annotation of a definition that says which one it is."""
_DIGITS = 16
_ADMISSION = "admissionregistration.k8s.io/v1"
_ACCOUNT = "system:serviceaccount:"
_ROLE_KINDS = {
    "clusterroles": "ClusterRole",
    "clusterrolebindings": "ClusterRoleBinding",
    "roles": "Role",
    "rolebindings": "RoleBinding",
}
# Whoever may see bindings may be told why they are as they are.
_READERS = (
    f"clusterroles.{GROUP}",
    {
        "metadata": {"name": "atoll-view", "labels": {f"{GROUP}/aggregate-to-view": "true"}},
        "rules": [{"verbs": list(READ), "apiGroups": [KEPT.group], "resources": ["explanations"]}],
    },
)
_NUMBERS = (
    f"clusterroles.{GROUP}",
    {"metadata": {"name": METRICS}, "rules": [{"verbs": ["get"], "nonResourceURLs": ["/metrics"]}]},
)
# As Karmada registers it.
_GROUP_PRIORITY, _VERSION_PRIORITY = 2000, 10

Applied = tuple[str, Wire]
"""A path, and what is to be applied there."""


@dataclass(frozen=True, slots=True)
class Registration:
    """Where we are, whom to trust there (base64 of PEM), and what the host calls us."""

    place: Place
    bundle: str = ""
    me: str = ""

    def client_config(self, path: str) -> Wire:
        return self.place.client_config(path, self.bundle)


def definitions(wanted: Registration | None = None) -> Iterator[Applied]:
    """The kinds that a host must have; with all their versions once it can find us."""
    for each in host_definitions(wanted.client_config(CONVERSION) if wanted else None):
        said = sha256(orjson.dumps(each["spec"], option=orjson.OPT_SORT_KEYS)).hexdigest()
        metadata = {**each["metadata"], "annotations": {APPLIED: said[:_DIGITS]}}
        yield DEFINITIONS.path_of(each), {**each, "metadata": metadata}


def spaces(place: Place) -> Iterator[Applied]:
    """The namespaces that must be there before anything else."""
    for name in (place.namespace, names.SYSTEM_NAMESPACE):
        metadata = {"name": name, "labels": {names.SKIP_AUTO_PROPAGATION: "true"}}
        wire = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        yield NAMESPACES.path_of(wire), wire


def roles() -> Iterator[Applied]:
    """What agents, people and monitors may do; who applies it must be allowed to give that."""
    for collection, given in (*AGENT_ROLES, *PEOPLE_ROLES, _READERS, _NUMBERS):
        plural, _, group = collection.partition(".")
        kind = _ROLE_KINDS[plural]
        place = Collection(f"{group}/v1", kind, plural, namespaced=not kind.startswith("Cluster"))
        wire = {"apiVersion": place.api_version, "kind": kind, **given}
        yield place.path_of(wire), wire


def registrations(wanted: Registration) -> Iterator[Applied]:
    """How the host finds us, and what it asks us."""
    place, bundle = wanted.place, wanted.bundle
    for service in place.objects():
        yield _SERVICES.path_of(service), service
    api = {
        "apiVersion": API_SERVICES.api_version,
        "kind": API_SERVICES.kind,
        "metadata": {"name": API_SERVICE},
        "spec": {
            "group": SHOWN.group,
            "version": SHOWN.version,
            "groupPriorityMinimum": _GROUP_PRIORITY,
            "versionPriority": _VERSION_PRIORITY,
            "service": place.api_service(),
            "caBundle": bundle,
        },
    }
    yield API_SERVICES.path_of(api), api
    defaults = _of_kinds(wanted, "defaults", DEFAULTS)
    rules = [*_of_kinds(wanted, "rules", RULES), _protection(wanted)]
    for kind, webhooks in (("Mutating", defaults), ("Validating", rules)):
        wire = {
            "apiVersion": _ADMISSION,
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": NAME},
            "webhooks": webhooks,
        }
        yield f"/apis/{_ADMISSION}/{kind.lower()}webhookconfigurations/{NAME}", wire


def _of_kinds(wanted: Registration, name: str, path: str) -> list[Wire]:
    """The webhooks that concern kinds of ours: written by others, and Clusters, by anybody.

    What is written to the record of a Cluster comes from us, whoever wants it; all else that we
    write ourselves keeps the rules already. An account that people use too is no sign of us.
    """
    going = {
        "name": "not-going",
        "expression": "request.operation != 'UPDATE' || !has(object.metadata.deletionTimestamp)",
    }
    ours = {"name": "not-ours", "expression": f"request.userInfo.username != '{wanted.me}'"}
    is_account = wanted.me.startswith(_ACCOUNT)
    return [
        {
            **_webhook(wanted, name, path),
            "rules": _rules_of(_kinds()),
            "matchConditions": [going, *([ours] if is_account else [])],
        },
        {
            **_webhook(wanted, f"{name}-of-clusters", path),
            "rules": _rules_of({KEPT.group: {KEPT.version: [KEPT.plural]}}),
            "matchConditions": [going],
        },
    ]


def _protection(wanted: Registration) -> Wire:
    """The webhook that keeps what is labelled so from being deleted; the label can be taken off."""
    every = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "scope": "*"}
    labelled = {"matchLabels": {names.DELETION_PROTECTED: "Always"}}
    return {
        **_webhook(wanted, "protection", PROTECTION),
        "rules": [{**every, "operations": ["DELETE"]}],
        "objectSelector": labelled,
    }


def _webhook(wanted: Registration, name: str, path: str) -> Wire:
    return {
        "name": f"{name}.{KEPT.group}",
        "clientConfig": wanted.client_config(path),
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "timeoutSeconds": 10,
    }


def _kinds() -> dict[str, dict[str, list[str]]]:
    """Our kinds but for Clusters, by group and version."""
    found: dict[str, dict[str, list[str]]] = {}
    for each in host_definitions():
        spec = each["spec"]
        stored = next(version["name"] for version in spec["versions"] if version["storage"])
        if spec["names"]["plural"] != KEPT.plural:
            versions = found.setdefault(spec["group"], {})
            versions.setdefault(stored, []).append(spec["names"]["plural"])
    return found


def _rules_of(kinds: dict[str, dict[str, list[str]]]) -> list[Wire]:
    return [
        {
            "apiGroups": [group],
            "apiVersions": [version],
            "resources": plurals,
            "operations": ["CREATE", "UPDATE"],
            "scope": "*",
        }
        for group, versions in kinds.items()
        for version, plurals in versions.items()
    ]
