"""Argo Workflows (argoproj.io): a workflow runs so many pods at a time."""

from collections.abc import Iterator

from atoll.dialects.wire import count, parts, text
from atoll.interpreting import answers
from atoll.interpreting.depending import needing
from atoll.interpreting.fields import inner
from atoll.interpreting.kinds import CLAIM, SERVICE_ACCOUNT, Kind
from atoll.interpreting.operations import Dependency, Interpretation, Replicas
from atoll.interpreting.requirements import requirements
from atoll.interpreting.thirdparty.pods import setting, suspended_there
from atoll.wire import Object

_NODES = ("affinity", "nodeSelector", "tolerations")


def _replicas(wire: Object) -> Replicas:
    """Pods at a time; one if no limit is set. What each needs differs, but not on which nodes."""
    spec = inner(wire, "spec")
    wanted = count(spec, "parallelism", "spec") if "parallelism" in spec else 1
    nodes = {key: spec[key] for key in _NODES if spec.get(key) is not None}
    return answers.replicas(wanted, requirements(nodes, "spec"), wire, "spec")


def _healthy(observed: Object) -> bool:
    """It has begun, and has neither failed nor broken."""
    phase = text(inner(observed, "status"), "phase", "status")
    return phase not in ("", "Error", "Failed")


def _retained(desired: Object, observed: Object) -> Object:
    kept = {"status": observed["status"]} if "status" in observed else {}
    return {**suspended_there(desired, observed), **kept}


def _dependencies(wire: Object) -> tuple[Dependency, ...]:
    return needing(wire, [("spec", inner(wire, "spec"))], _named(wire))


def _named(wire: Object) -> Iterator[tuple[Kind, str]]:
    account = text(inner(wire, "spec", "executor"), "serviceAccountName", "spec.executor")
    yield SERVICE_ACCOUNT, account
    for here, each in parts(inner(wire, "spec"), "volumeClaimTemplates", "spec"):
        yield CLAIM, text(inner(each, "metadata"), "name", here)


ARGO = {
    ("argoproj.io/v1alpha1", "Workflow"): Interpretation(
        replicas=_replicas,
        revise=setting("spec", "parallelism"),
        retain=_retained,
        health=_healthy,
        dependencies=_dependencies,
    )
}
