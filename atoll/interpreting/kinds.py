"""The kinds of Kubernetes that Atoll understands by itself, and where each keeps its pods' spec."""

from collections.abc import Mapping

from atoll.dialects.wire import part, text
from atoll.errors import Invalid
from atoll.interpreting.fields import inner
from atoll.wire import Object

Kind = tuple[str, str]
"""apiVersion and kind."""

DEPLOYMENT: Kind = ("apps/v1", "Deployment")
REPLICA_SET: Kind = ("apps/v1", "ReplicaSet")
STATEFUL_SET: Kind = ("apps/v1", "StatefulSet")
DAEMON_SET: Kind = ("apps/v1", "DaemonSet")
JOB: Kind = ("batch/v1", "Job")
CRON_JOB: Kind = ("batch/v1", "CronJob")
POD: Kind = ("v1", "Pod")
SERVICE: Kind = ("v1", "Service")
SERVICE_ACCOUNT: Kind = ("v1", "ServiceAccount")
SECRET: Kind = ("v1", "Secret")
CLAIM: Kind = ("v1", "PersistentVolumeClaim")
VOLUME: Kind = ("v1", "PersistentVolume")
INGRESS: Kind = ("networking.k8s.io/v1", "Ingress")
BUDGET: Kind = ("policy/v1", "PodDisruptionBudget")
AUTOSCALER: Kind = ("autoscaling/v2", "HorizontalPodAutoscaler")
SERVICE_IMPORT: Kind = ("multicluster.x-k8s.io/v1alpha1", "ServiceImport")

POD_SPECS: Mapping[Kind, tuple[str, ...]] = {
    DEPLOYMENT: ("spec", "template", "spec"),
    REPLICA_SET: ("spec", "template", "spec"),
    STATEFUL_SET: ("spec", "template", "spec"),
    DAEMON_SET: ("spec", "template", "spec"),
    JOB: ("spec", "template", "spec"),
    CRON_JOB: ("spec", "jobTemplate", "spec", "template", "spec"),
    POD: ("spec",),
}


def kind_of(wire: Object) -> Kind:
    """What an object says it is."""
    return text(wire, "apiVersion", ""), text(wire, "kind", "")


def named(wire: Object, key: str) -> str:
    """A text in an object's metadata, such as its name; empty if absent."""
    return text(part(wire, "metadata", "") or {}, key, "metadata")


def pod_spec(wire: Object) -> tuple[str, Object]:
    """The spec of the pods an object makes, and its path; empty if it has none."""
    keys = POD_SPECS.get(kind_of(wire))
    if keys is None:
        raise Invalid("kind", wire.get("kind"), "makes no pods")
    return ".".join(keys), inner(wire, *keys)
