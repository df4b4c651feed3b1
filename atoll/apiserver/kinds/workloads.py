"""The kinds of apps/v1: how Deployments, ReplicaSets, StatefulSets and DaemonSets are written."""

from typing import Any

from atoll.apiserver.fields.error import (
    Errors,
    forbidden,
    invalid,
    not_supported,
    optional,
    required,
)
from atoll.apiserver.kinds.labels import selector_errors, selector_of
from atoll.apiserver.kinds.podrules import restart_policy_errors
from atoll.apiserver.kinds.pods import template_errors
from atoll.apiserver.kinds.podspec import default_claim_spec, default_template
from atoll.apiserver.kinds.reading import fill, given, grown, part, parts, text
from atoll.apiserver.kinds.rules import (
    MISMATCH,
    above_all,
    fixed,
    is_zero_share,
    not_negative,
    one_of,
    share_errors,
)
from atoll.apiserver.resource import Scale, Strategy
from atoll.dialects.kubernetes.names import are_labels, label_faults
from atoll.wire import Wire

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_SCALE = Scale(("spec", "replicas"), ("status", "replicas"), ("spec", "selector"))


def _default_deployment(deployment: Wire) -> None:
    spec = grown(deployment, "spec")
    fill(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    _default_strategy(grown(spec, "strategy"), maxUnavailable="25%", maxSurge="25%")
    default_template(spec, "template")


def _default_strategy(strategy: Wire, **rolling: int | str) -> None:
    fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        fill(grown(strategy, "rollingUpdate"), **rolling)


def _deployment_errors(deployment: Wire) -> Errors:
    spec = part(deployment, "spec")
    yield from not_negative(spec, "spec", "replicas")
    yield from _selector_errors(spec, "deployment")
    yield from _template_errors(spec, active_deadline_of="ReplicaSet")
    yield from _strategy_errors(part(spec, "strategy"))
    yield from not_negative(spec, "spec", "minReadySeconds", "revisionHistoryLimit")
    yield from not_negative(spec, "spec", "progressDeadlineSeconds")
    deadline, ready = spec.get("progressDeadlineSeconds"), spec.get("minReadySeconds") or 0
    if isinstance(deadline, int) and isinstance(ready, int) and deadline <= ready:
        why = "must be greater than minReadySeconds"
        yield invalid("spec.progressDeadlineSeconds", deadline, why)


def _strategy_errors(strategy: Wire) -> Errors:
    path = "spec.strategy"
    match strategy.get("type"):
        case "Recreate":
            if strategy.get("rollingUpdate") is None:
                return []
            why = "may not be specified when strategy `type` is 'Recreate'"
            return [forbidden(f"{path}.rollingUpdate", why)]
        case "RollingUpdate":
            return _rolling_errors(part(strategy, "rollingUpdate"), f"{path}.rollingUpdate")
    return [not_supported(path, _go(strategy), ("Recreate", "RollingUpdate"))]


def _rolling_errors(rolling: Wire, path: str) -> Errors:
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    yield from share_errors(unavailable, f"{path}.maxUnavailable")
    yield from share_errors(surge, f"{path}.maxSurge")
    if is_zero_share(unavailable) and is_zero_share(surge):
        yield invalid(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
    yield from above_all(unavailable, f"{path}.maxUnavailable")


def _go(strategy: Wire) -> Wire:
    """A strategy as Kubernetes shows it in messages: by the names inside the program."""
    return {"Type": strategy.get("type", ""), "RollingUpdate": strategy.get("rollingUpdate")}


def _selector_errors(spec: Wire, kind: str) -> Errors:
    selector = spec.get("selector")
    if not isinstance(selector, dict):
        yield required("spec.selector")
        return
    yield from selector_errors(selector, "spec.selector")
    if not part(selector, "matchLabels") and not parts(selector, "matchExpressions"):
        yield invalid("spec.selector", selector, f"empty selector is invalid for {kind}")


def _template_errors(spec: Wire, *, active_deadline_of: str) -> Errors:
    """The template must be what the selector selects, and must restart its containers for ever."""
    selector, template = part(spec, "selector"), part(spec, "template")
    yield from _matching_errors(spec, selector, template)
    yield from template_errors(template, "spec.template")
    pod = part(template, "spec")
    yield from restart_policy_errors(pod)
    if pod.get("activeDeadlineSeconds") is not None:
        why = f"activeDeadlineSeconds in {active_deadline_of} is not Supported"
        yield forbidden("spec.template.spec.activeDeadlineSeconds", why)


def _matching_errors(spec: Wire, selector: Wire, template: Wire) -> Errors:
    if isinstance(spec.get("selector"), dict):
        labels: Any = part(template, "metadata", "labels")
        if _is_plainly_matched(selector, labels):
            return []
        if any(selector_errors(selector, "")):
            return [invalid("spec.selector", selector, "invalid label selector")]
        chosen = selector_of(selector)
        if not chosen or chosen.matches(labels):
            return []
    labels = part(template, "metadata").get("labels")
    return [invalid("spec.template.metadata.labels", labels, MISMATCH)]


def _is_plainly_matched(selector: Wire, labels: Wire) -> bool:
    """Whether the labels have all that a selector names; labels themselves are checked anyway."""
    named = part(selector, "matchLabels")
    if not named or selector.get("matchExpressions") or not are_labels(named):
        return False
    return named.items() <= labels.items()


def _default_replicaset(replicaset: Wire) -> None:
    spec = grown(replicaset, "spec")
    fill(spec, replicas=1)
    default_template(spec, "template")


def _replicaset_errors(replicaset: Wire) -> Errors:
    spec = part(replicaset, "spec")
    yield from not_negative(spec, "spec", "replicas", "minReadySeconds")
    yield from _selector_errors(spec, "deployment")
    yield from _template_errors(spec, active_deadline_of="ReplicaSet")


def _default_statefulset(statefulset: Wire) -> None:
    spec = grown(statefulset, "spec")
    fill(spec, podManagementPolicy="OrderedReady", replicas=1, revisionHistoryLimit=10)
    _default_strategy(grown(spec, "updateStrategy"), partition=0)
    policy = grown(spec, "persistentVolumeClaimRetentionPolicy")
    fill(policy, whenDeleted="Retain", whenScaled="Retain")
    default_template(spec, "template")
    for claim in parts(spec, "volumeClaimTemplates"):
        fill(claim, apiVersion="v1", kind="PersistentVolumeClaim")
        default_claim_spec(grown(claim, "spec"))
        fill(grown(claim, "status"), phase="Pending")


def _statefulset_errors(statefulset: Wire) -> Errors:
    spec = part(statefulset, "spec")
    policy = spec.get("podManagementPolicy")
    if policy not in ("OrderedReady", "Parallel"):
        yield invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    yield from _set_strategy_errors(part(spec, "updateStrategy"), "spec.updateStrategy")
    retention, where = part(spec, "persistentVolumeClaimRetentionPolicy"), _RETENTION
    for key in ("whenDeleted", "whenScaled"):
        yield from one_of(retention, f"spec.{where}", key, ("Retain", "Delete"))
    yield from not_negative(spec, "spec", "replicas", "minReadySeconds", "revisionHistoryLimit")
    yield from not_negative(part(spec, "ordinals"), "spec.ordinals", "start")
    yield from optional("spec.serviceName", text(spec, "serviceName"), label_faults)
    yield from _selector_errors(spec, "statefulset")
    yield from _template_errors(_with_claims(spec), active_deadline_of="StatefulSet")


def _set_strategy_errors(strategy: Wire, where: str) -> Errors:
    kind, rolling = strategy.get("type"), given(strategy, "rollingUpdate")
    place = f"{where}.rollingUpdate"
    if kind not in ("RollingUpdate", "OnDelete"):
        return [invalid(where, _go(strategy), "must be 'RollingUpdate' or 'OnDelete'")]
    if rolling is None:
        return []
    if kind == "OnDelete":
        shown = {
            "Partition": rolling.get("partition", 0),
            "MaxUnavailable": rolling.get("maxUnavailable"),
        }
        return [invalid(place, shown, "only allowed for updateStrategy 'RollingUpdate'")]
    return not_negative(rolling, place, "partition")


def _with_claims(spec: Wire) -> Wire:
    """As its pods see it: with the volumes that are claimed for each of them."""
    claims = [text(claim, "metadata", "name") for claim in parts(spec, "volumeClaimTemplates")]
    if not claims:
        return spec
    template = part(spec, "template")
    pod = part(template, "spec")
    own = [volume for volume in parts(pod, "volumes") if volume.get("name") not in claims]
    added = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    return {**spec, "template": {**template, "spec": {**pod, "volumes": [*own, *added]}}}


_RETENTION = "persistentVolumeClaimRetentionPolicy"
_STATEFULSET_CHANGEABLE = (
    *("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit"),
    *("persistentVolumeClaimRetentionPolicy", "minReadySeconds"),
)


def _statefulset_update_errors(new: Wire, old: Wire) -> Errors:
    after, before = part(new, "spec"), part(old, "spec")
    fixed = {*after, *before} - {*_STATEFULSET_CHANGEABLE}
    if all(after.get(key) == before.get(key) for key in fixed):
        return []
    listed = ", ".join(f"'{key}'" for key in _STATEFULSET_CHANGEABLE[:-1])
    why = (
        f"updates to statefulset spec for fields other than {listed} and"
        f" '{_STATEFULSET_CHANGEABLE[-1]}' are forbidden"
    )
    return [forbidden("spec", why)]


def _default_daemonset(daemonset: Wire) -> None:
    spec = grown(daemonset, "spec")
    fill(spec, revisionHistoryLimit=10)
    _default_strategy(grown(spec, "updateStrategy"), maxUnavailable=1, maxSurge=0)
    default_template(spec, "template")


def _number_template(daemonset: Wire) -> None:
    annotations = grown(daemonset, "metadata", "annotations")
    annotations[_TEMPLATE_GENERATION] = "1"


def _renumber_template(daemonset: Wire, old: Wire) -> None:
    """Keep the number of the template in its annotation: one more with every change of it."""
    before = part(old, "metadata", "annotations").get(_TEMPLATE_GENERATION, "0")
    changed = part(daemonset, "spec").get("template") != part(old, "spec").get("template")
    if isinstance(before, str) and before.isascii() and before.isdigit():
        meta = part(daemonset, "metadata")
        number = {_TEMPLATE_GENERATION: str(int(before) + changed)}
        annotations = {**part(meta, "annotations"), **number}
        daemonset["metadata"] = {**meta, "annotations": annotations}


def _daemonset_errors(daemonset: Wire) -> Errors:
    spec = part(daemonset, "spec")
    if isinstance(spec.get("selector"), dict):
        yield from _selector_errors(spec, "daemonset")
    yield from _template_errors(spec, active_deadline_of="DaemonSet")
    yield from not_negative(spec, "spec", "minReadySeconds")
    strategy = part(spec, "updateStrategy")
    if strategy.get("type") not in ("RollingUpdate", "OnDelete"):
        choices = ("RollingUpdate", "OnDelete")
        yield not_supported("spec.updateStrategy", _go(strategy), choices)
    elif strategy["type"] == "RollingUpdate":
        yield from _daemon_rolling_errors(part(strategy, "rollingUpdate"))
    yield from not_negative(spec, "spec", "revisionHistoryLimit")


def _daemon_rolling_errors(rolling: Wire) -> Errors:
    """On one node, either the old pod stays until the new one runs, or it goes before."""
    path = "spec.updateStrategy.rollingUpdate"
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    for check in (share_errors, above_all):
        yield from check(unavailable, f"{path}.maxUnavailable")
        yield from check(surge, f"{path}.maxSurge")
    none, neither = is_zero_share(unavailable), is_zero_share(surge)
    if none and neither:
        yield required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")
    elif not none and not neither:
        yield invalid(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero")


def _revision_errors(revision: Wire) -> Errors:
    yield from not_negative(revision, "", "revision")
    if revision.get("data") is None:
        yield required("data", "data is mandatory")


DEPLOYMENT = Strategy(
    tracks_generation=True,
    counts=("annotations",),  # its controller hands them on to replica sets
    has_status=True,
    scale=_SCALE,
    default=_default_deployment,
    errors=_deployment_errors,
    update_errors=fixed(["spec", "selector"]),
)
REPLICA_SET = Strategy(
    tracks_generation=True,
    has_status=True,
    scale=_SCALE,
    default=_default_replicaset,
    errors=_replicaset_errors,
    update_errors=fixed(["spec", "selector"]),
)
STATEFUL_SET = Strategy(
    tracks_generation=True,
    has_status=True,
    scale=_SCALE,
    name_errors=label_faults,
    default=_default_statefulset,
    errors=_statefulset_errors,
    update_errors=_statefulset_update_errors,
)
DAEMON_SET = Strategy(
    tracks_generation=True,
    has_status=True,
    default=_default_daemonset,
    errors=_daemonset_errors,
    update_errors=fixed(["spec", "selector"]),
    prepare_create=_number_template,
    prepare_update=_renumber_template,
)
CONTROLLER_REVISION = Strategy(errors=_revision_errors, update_errors=fixed(["data"]))
