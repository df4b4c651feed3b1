"""OpenKruise (apps.kruise.io): workloads like Kubernetes' own, jobs on every node, sidecars."""

from collections.abc import Iterator
from dataclasses import replace

from atoll.dialects.wire import count, elements, part, parts, text
from atoll.interpreting import healthy
from atoll.interpreting.aggregating import news, reported
from atoll.interpreting.depending import needing
from atoll.interpreting.fields import holds, inner, replaced
from atoll.interpreting.kinds import named
from atoll.interpreting.operations import Dependency, Interpretation, Item, Replicas
from atoll.interpreting.thirdparty.pods import Template, counted, of_templates, setting, template_at
from atoll.interpreting.thirdparty.statuses import Tally, clusters_where, latest, picking
from atoll.wire import Object

GROUP = "apps.kruise.io"
_REPLICAS = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
_CLONES = (*_REPLICAS, "updatedReadyReplicas", "expectedUpdatedReplicas")
_REVISIONS = ("updateRevision", "currentRevision")
_ORDINALS = (*_REPLICAS, "currentReplicas", "updatedReadyReplicas")
_UNITED = (*_REPLICAS, "unavailableReplicas")
_DAEMONS = (
    *("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"),
    *("updatedNumberScheduled", "numberAvailable", "numberUnavailable"),
)
_JOBS = ("active", "succeeded", "failed", "desired")
_SIDECARS = ("matchedPods", "updatedPods", "readyPods")
_SUBSETS = (
    *("statefulSetTemplate", "advancedStatefulSetTemplate", "cloneSetTemplate"),
    "deploymentTemplate",
)


def _template(wire: Object) -> Template:
    """The pods of a workload; a UnitedDeployment keeps them in the template of its subsets."""
    path, found = template_at(wire, "spec", "template")
    for subset in _SUBSETS:
        if subset in found:
            return template_at(wire, "spec", "template", subset, "spec", "template")
    return path, found


def _templates(wire: Object) -> Iterator[Template]:
    yield _template(wire)


def _job_templates(wire: Object) -> Iterator[Template]:
    for kind in ("jobTemplate", "broadcastJobTemplate"):
        yield template_at(wire, "spec", "template", kind, "spec", "template")


def _workload(wire: Object) -> Replicas:
    """`spec.replicas`; one if absent, as Kruise defaults it."""
    spec = inner(wire, "spec")
    wanted = count(spec, "replicas", "spec") if "replicas" in spec else 1
    return counted(wanted, _template(wire), wire)


def _broadcast(wire: Object) -> Replicas:
    """Pods at a time; a share of the nodes, or none given, counts as one."""
    spec = inner(wire, "spec")
    by_number = isinstance(spec.get("parallelism"), int)
    return counted(count(spec, "parallelism", "spec") if by_number else 1, _template(wire), wire)


def _is_going_well(observed: Object) -> bool:
    """Pods are wanted, none has failed, and some run or have succeeded."""
    found = {key: count(inner(observed, "status"), key, "status") for key in _JOBS}
    begun = found["succeeded"] or found["active"]
    return bool(found["desired"] and begun and not found["failed"])


def _with_members_labels(desired: Object, observed: Object) -> Object:
    """A job's pods keep the labels that the member's controller selects them by."""
    kept = part(inner(observed, "spec", "template", "metadata"), "labels", "spec.template.metadata")
    keys = ("spec", "template", "metadata", "labels")
    return desired if kept is None else replaced(desired, keys, kept)


def _summed_job(template: Object, items: tuple[Item, ...]) -> Object | None:
    tally = Tally(sums=_JOBS, last=("phase",))
    status = {**tally.status(template, items), "conditions": []}
    failed = clusters_where(items, lambda status, path: holds(status, path, "Failed"))
    done = clusters_where(items, lambda status, path: holds(status, path, "Complete"))
    if failed:
        message = f"Job executed failed in member clusters: {', '.join(failed)}"
        status["conditions"] = [_condition("Failed", "JobFailed", message)]
    elif items and len(done) == len(items):
        status["conditions"] = [_condition("Completed", "Completed", "Job completed")]
    return news(template, status)


def _condition(kind: str, reason: str, message: str) -> Object:
    return {"type": kind, "status": "True", "reason": reason, "message": message}


def _summed_schedule(template: Object, items: tuple[Item, ...]) -> Object | None:
    """All active jobs, and when the last one was started."""
    active = [each for path, one in reported(items) for each in elements(one, "active", path)]
    sorts = [text(each, "type", path) for path, each in reported(items)]
    found = {
        "active": active,
        "type": next((each for each in reversed(sorts) if each), ""),
        "lastScheduleTime": latest(items, "lastScheduleTime"),
    }
    return news(template, {key: value for key, value in found.items() if value})


def _is_injected(observed: Object) -> bool:
    """Every pod that is matched has its sidecars as they are now."""
    status = part(observed, "status", "")
    if status is None:
        return False
    return count(status, "updatedPods", "status") == count(status, "matchedPods", "status")


def _sidecar_needs(wire: Object) -> tuple[Dependency, ...]:
    """What the sidecars refer to, in the namespace whose pods they are put into."""
    spec = inner(wire, "spec")
    namespace = named(wire, "namespace") or text(spec, "namespace", "spec")
    return needing({"metadata": {"namespace": namespace}}, [("spec", spec)])


def _reflected_sidecars(observed: Object) -> Object | None:
    status = part(observed, "status", "")
    return status and {key: count(status, key, "status") for key in _SIDECARS}


def _like_a_deployment(sums: tuple[str, ...], *last: str) -> Interpretation:
    return Interpretation(
        replicas=_workload,
        revise=setting("spec", "replicas"),
        aggregate=Tally(sums=sums, last=last, generations=True),
        reflect=picking(*sums, *last, generations=True),
        health=healthy.rolled_out,
        dependencies=of_templates(_templates),
    )


def _summed_united(template: Object, items: tuple[Item, ...]) -> Object | None:
    """Sums, and of each condition what the last cluster says."""
    status = Tally(sums=_UNITED, generations=True).status(template, items)
    said = {
        text(each, "type", here): each
        for path, one in reported(items)
        for here, each in parts(one, "conditions", path)
    }
    return news(template, status | ({"conditions": list(said.values())} if said else {}))


KRUISE = {
    (f"{GROUP}/v1alpha1", "CloneSet"): _like_a_deployment(_CLONES, *_REVISIONS, "labelSelector"),
    (f"{GROUP}/v1beta1", "StatefulSet"): _like_a_deployment(_ORDINALS, *_REVISIONS),
    (f"{GROUP}/v1alpha1", "UnitedDeployment"): replace(
        _like_a_deployment(_UNITED, "conditions"), aggregate=_summed_united
    ),
    (f"{GROUP}/v1alpha1", "DaemonSet"): Interpretation(
        aggregate=Tally(sums=_DAEMONS, last=("daemonSetHash",), generations=True),
        reflect=picking(*_DAEMONS, "daemonSetHash", generations=True),
        health=healthy.on_all_nodes,
        dependencies=of_templates(_templates),
    ),
    (f"{GROUP}/v1alpha1", "BroadcastJob"): Interpretation(
        replicas=_broadcast,
        revise=setting("spec", "parallelism"),
        retain=_with_members_labels,
        aggregate=_summed_job,
        reflect=picking("conditions", "startTime", "completionTime", "phase", *_JOBS),
        health=_is_going_well,
        dependencies=of_templates(_templates),
    ),
    (f"{GROUP}/v1alpha1", "AdvancedCronJob"): Interpretation(
        aggregate=_summed_schedule,
        dependencies=of_templates(_job_templates),
    ),
    (f"{GROUP}/v1alpha1", "SidecarSet"): Interpretation(
        replicas=lambda wire: Replicas(0),
        retain=lambda desired, observed: desired,
        aggregate=Tally(sums=_SIDECARS),
        reflect=_reflected_sidecars,
        health=_is_injected,
        dependencies=_sidecar_needs,
    ),
}
