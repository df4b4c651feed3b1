"""Names that Karmada's users and tools know: namespaces, labels, annotations, finalizers.

And how the names of bindings and Works follow from the objects they are for. All of it is a
contract with other people's programs; nothing here is ours to choose.
"""

SYSTEM_NAMESPACE = "karmada-system"
CLUSTER_NAMESPACE = "karmada-cluster"
EXECUTION_PREFIX = "karmada-es-"

MANAGED = "karmada.io/managed"
SYSTEM = "karmada.io/system"

POLICY_ID = "propagationpolicy.karmada.io/permanent-id"
POLICY_NAMESPACE = "propagationpolicy.karmada.io/namespace"
POLICY_NAME = "propagationpolicy.karmada.io/name"
CLUSTER_POLICY_ID = "clusterpropagationpolicy.karmada.io/permanent-id"
CLUSTER_POLICY_NAME = "clusterpropagationpolicy.karmada.io/name"

BINDING_ID = "resourcebinding.karmada.io/permanent-id"
BINDING_NAMESPACE = "resourcebinding.karmada.io/namespace"
BINDING_NAME = "resourcebinding.karmada.io/name"
CLUSTER_BINDING_ID = "clusterresourcebinding.karmada.io/permanent-id"
CLUSTER_BINDING_NAME = "clusterresourcebinding.karmada.io/name"
BINDING_MANAGED_BY = "binding.karmada.io/managed-by"
DEPENDED_BY_PREFIX = "resourcebinding.karmada.io/depended-by-"
DEPENDENCIES = "resourcebinding.karmada.io/dependencies"

WORK_ID = "work.karmada.io/permanent-id"
WORK_NAMESPACE = "work.karmada.io/namespace"
WORK_NAME = "work.karmada.io/name"
CONFLICT_RESOLUTION = "work.karmada.io/conflict-resolution"

APPLIED_PLACEMENT = "policy.karmada.io/applied-placement"
APPLIED_OVERRIDES = "policy.karmada.io/applied-overrides"
APPLIED_CLUSTER_OVERRIDES = "policy.karmada.io/applied-cluster-overrides"

TEMPLATE_UID = "resourcetemplate.karmada.io/uid"
TEMPLATE_GENERATION = "resourcetemplate.karmada.io/generation"
MANAGED_LABELS = "resourcetemplate.karmada.io/managed-labels"
MANAGED_ANNOTATIONS = "resourcetemplate.karmada.io/managed-annotations"
RETAIN_REPLICAS = "resourcetemplate.karmada.io/retain-replicas"
CLAIMED_BY = "resourcetemplate.karmada.io/claimed-by"
DELETION_PROTECTED = "resourcetemplate.karmada.io/deletion-protected"
SKIP_AUTO_PROPAGATION = "namespace.karmada.io/skip-auto-propagation"

NOT_READY = "cluster.karmada.io/not-ready"
UNREACHABLE = "cluster.karmada.io/unreachable"

POLICY_FINALIZER = "karmada.io/propagation-policy-controller"
CLUSTER_POLICY_FINALIZER = "karmada.io/cluster-propagation-policy-controller"
BINDING_FINALIZER = "karmada.io/binding-controller"
CLUSTER_BINDING_FINALIZER = "karmada.io/cluster-resource-binding-controller"
DEPENDENCIES_FINALIZER = "karmada.io/binding-dependencies-distributor"
EXECUTION_FINALIZER = "karmada.io/execution-controller"
CLUSTER_FINALIZER = "karmada.io/cluster-controller"

NAME_MAX = 253
_FNV_OFFSET, _FNV_PRIME = 2166136261, 16777619
_SAFE = "bcdfghjklmnpqrstvwxz2456789"


def execution_namespace(cluster: str) -> str:
    """Where the Works of a cluster are."""
    return EXECUTION_PREFIX + cluster


def cluster_of(namespace: str) -> str | None:
    """The cluster whose Works are in this namespace, if it is one for Works."""
    is_for_works = namespace.startswith(EXECUTION_PREFIX)
    return namespace.removeprefix(EXECUTION_PREFIX) if is_for_works else None


def is_reserved(namespace: str) -> bool:
    """Whether a namespace is the plane's own, from which nothing is propagated."""
    own = (SYSTEM_NAMESPACE, CLUSTER_NAMESPACE)
    return namespace in own or namespace.startswith(EXECUTION_PREFIX)


def binding_name(kind: str, name: str) -> str:
    """The name of the binding of an object."""
    return f"{name}-{kind}".lower().replace(":", ".")


def work_name(kind: str, name: str, namespace: str = "") -> str:
    """The name of an object's Work, the same in every cluster's namespace."""
    parts = (namespace, name, kind) if namespace else (name, kind)
    hashed = _safe(str(_fnv("-".join(parts).lower())))
    return f"{name.lower().replace(':', '.')}-{hashed}"


def too_long(kind: str, name: str, namespace: str = "") -> str:
    """What is wrong with a name from which the others cannot be derived; nothing if they can."""
    derived = (binding_name(kind, name), work_name(kind, name, namespace))
    excess = max(map(len, derived)) - NAME_MAX
    if excess <= 0:
        return ""
    return (
        f"the name has {len(name)} characters, and names derived from it may have {NAME_MAX}; "
        f"use one that is {excess} shorter"
    )


def depended_by(namespace: str, name: str) -> str:
    """The label that says on whose behalf a dependency is propagated."""
    return DEPENDED_BY_PREFIX + _safe(str(_fnv(f"{namespace}/{name}")))


def _fnv(text: str) -> int:
    """FNV-1a in 32 bits."""
    value = _FNV_OFFSET
    for byte in text.encode():
        value = (value ^ byte) * _FNV_PRIME % 2**32
    return value


def _safe(text: str) -> str:
    """The same text in letters that spell no words."""
    return "".join(_SAFE[ord(each) % len(_SAFE)] for each in text)
