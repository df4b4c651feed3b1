"""For what policies and bindings are refused, beyond their schema and their placement.

Objects come in well-formed. The sentences are those of Karmada's admission where it has one.
"""

from collections.abc import Iterator
from typing import Any

from atoll.dialects.json import read
from atoll.dialects.karmada import admission, names, placement
from atoll.dialects.karmada.cluster_rules import of_taint
from atoll.dialects.kubernetes.names import qualified_faults
from atoll.dialects.kubernetes.tolerations import EFFECTS
from atoll.dialects.wire import parts
from atoll.errors import Invalid
from atoll.wire import Object

_GRACIOUS = ("Gracefully", "Graciously")
_OPERATORS = ("In", "NotIn")


def propagation(new: Object, old: Object | None, label: str) -> Iterator[Invalid]:
    """What is wrong with a PropagationPolicy or ClusterPropagationPolicy."""
    spec = new["spec"]
    yield from _identity(new, old, label)
    if old is not None and spec.get("schedulerName") != old["spec"].get("schedulerName"):
        problem = "the schedulerName should not be updated"
        yield Invalid("spec.schedulerName", spec.get("schedulerName"), problem)
    problems = admission.validate(spec.get("placement"))
    yield from problems
    if not problems and spec.get("atoll") is not None:
        yield from _additions(spec)
    yield from _failover(spec)
    yield from selectors(spec, new["metadata"].get("namespace", ""))
    if spec.get("preemption") == "Always":
        yield from _named(spec)
    yield from _suspension(spec.get("suspension") or {})


def _identity(new: Object, old: Object | None, label: str) -> Iterator[Invalid]:
    mine = (new["metadata"].get("labels") or {}).get(label)
    field = f"metadata.labels[{label}]"
    if mine is None:
        problem = "is required, it should be set by the mutating admission webhook during creation"
        yield Invalid(field, mine, f"label {label} {problem}")
    elif old is not None and mine != (old["metadata"].get("labels") or {}).get(label):
        problem = "is immutable, it can only be set by the system during creation"
        yield Invalid(field, mine, f"label {label} {problem}")


def _additions(spec: Object) -> Iterator[Invalid]:
    try:
        placement.decode(spec.get("placement"), spec["atoll"])
    except Invalid as invalid:
        yield invalid


def selectors(spec: Object, namespace: str) -> Iterator[Invalid]:
    """A policy of a namespace selects in that namespace only."""
    for here, each in parts(spec, "resourceSelectors", "spec"):
        if namespace and each.get("namespace", "") != namespace:
            problem = "namespace of resource selector must be the same as the namespace of the"
            problem += f" policy ({namespace})"
            yield Invalid(f"{here}.namespace", each.get("namespace", ""), problem)


def _named(spec: Object) -> Iterator[Invalid]:
    for here, each in parts(spec, "resourceSelectors", "spec"):
        if not each.get("name"):
            problem = "name cannot be empty if preemption is Always, the empty name may cause"
            problem += " unexpected resources preemption"
            yield Invalid(f"{here}.name", "", problem)


def _suspension(suspension: Object) -> Iterator[Invalid]:
    chosen = (suspension.get("dispatchingOnClusters") or {}).get("clusterNames")
    if suspension.get("dispatching") and chosen:
        problem = "suspension dispatching cannot co-exist with dispatchingOnClusters.clusterNames"
        yield Invalid("spec.suspension", suspension, problem)


def _failover(spec: Object) -> Iterator[Invalid]:
    failover = spec.get("failover") or {}
    application = failover.get("application")
    if application is not None:
        if not spec.get("propagateDeps"):
            problem = "application failover is set, propagateDeps must be true"
            yield Invalid("spec.propagateDeps", spec.get("propagateDeps", False), problem)
        yield from _application(application)
    for which in ("application", "cluster"):
        kept = (failover.get(which) or {}).get("statePreservation") or {}
        for here, each in parts(kept, "rules", f"spec.failover.{which}.statePreservation"):
            if qualified_faults(each["aliasLabelName"]):
                field = f"{here}.aliasLabelName"
                yield Invalid(field, each["aliasLabelName"], admission.NO_NAME)


def _application(application: Object) -> Iterator[Invalid]:
    path = "spec.failover.application"
    tolerated = application["decisionConditions"].get("tolerationSeconds", 0)
    if tolerated < 0:
        field = f"{path}.decisionConditions.tolerationSeconds"
        yield Invalid(field, tolerated, "must be greater than or equal to 0")
    grace, field = application.get("gracePeriodSeconds"), f"{path}.gracePeriodSeconds"
    gracious = application.get("purgeMode") in _GRACIOUS
    if grace is not None and not gracious:
        yield Invalid(field, grace, "only takes effect when purgeMode is gracefully")
    if grace is None and gracious:
        yield Invalid(field, grace, "should not be empty when purgeMode is gracefully")
    if grace is not None and grace <= 0:
        yield Invalid(field, grace, "must be greater than 0")


def tainting(new: Object) -> Iterator[Invalid]:
    """What is wrong with a ClusterTaintPolicy: its taints must be such as a Cluster may have."""
    taints = list(parts(new["spec"], "taints", "spec"))
    marks = [(taint["key"], taint["effect"]) for _, taint in taints]
    for index, (here, taint) in enumerate(taints):
        if taint["effect"] not in EFFECTS:
            problem = f"must be one of {', '.join(EFFECTS)}"
            yield Invalid(f"{here}.effect", taint["effect"], problem)
        yield from of_taint(taint, here)
        if marks[index] in marks[index + 1 :]:
            key, effect = marks[index]
            problem = f"Duplicate taint with the same key({key}) and effect({effect}) is not"
            yield Invalid(here, dict(taint), f"{problem} allowed")
    for conditions in ("addOnConditions", "removeOnConditions"):
        for here, each in parts(new["spec"], conditions, "spec"):
            if each["operator"] not in _OPERATORS:
                problem = f"must be one of {', '.join(_OPERATORS)}"
                yield Invalid(f"{here}.operator", each["operator"], problem)


def binding(new: Object) -> Iterator[Invalid]:
    """What is wrong with a binding."""
    annotations = new["metadata"].get("annotations") or {}
    written = annotations.get(names.DEPENDENCIES)
    if written is not None and not _is_list_of_objects(read(written)):
        field = f"metadata.annotations[{names.DEPENDENCIES}]"
        yield Invalid(field, written, "annotation value must be a valid JSON list of objects")
    known: set[str] = set()
    for here, each in parts(new["spec"], "components", "spec"):
        name = each["name"]
        if not name:
            yield Invalid(f"{here}.name", name, "component names must not be empty")
        if name in known:
            yield Invalid(f"{here}.name", name, "component names must be unique")
        known.add(name)


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)
