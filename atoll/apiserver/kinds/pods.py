"""Pod, PodTemplate and ReplicationController: how they are written."""

from atoll.apiserver.fields.error import Errors, forbidden, invalid, required
from atoll.apiserver.kinds.amounts import quality
from atoll.apiserver.kinds.labels import label_errors
from atoll.apiserver.kinds.pod_parts import guest_errors, resize_errors, resized, with_guests
from atoll.apiserver.kinds.podrules import pod_spec_errors, pod_update_errors, restart_policy_errors
from atoll.apiserver.kinds.podspec import default_pod_spec, default_template
from atoll.apiserver.kinds.reading import fill, grown, part, parts
from atoll.apiserver.kinds.rules import MISMATCH, not_negative
from atoll.apiserver.resource import Scale, Strategy
from atoll.wire import Wire

_SELECTABLE = (
    *("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName"),
    *("spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName"),
)


def default_pod(pod: Wire) -> None:
    spec = grown(pod, "spec")
    default_pod_spec(spec)
    fill(spec, enableServiceLinks=True)
    for kind in ("containers", "initContainers"):
        for container in parts(spec, kind):
            _default_requests(part(container, "resources"))
            if spec.get("hostNetwork"):
                _default_host_ports(container)
    fill(grown(pod, "status"), phase="Pending", qosClass=quality(spec))


def _default_requests(resources: Wire) -> None:
    """What is limited but not requested is requested up to its limit."""
    limits = part(resources, "limits")
    if limits:
        resources["requests"] = {**limits, **part(resources, "requests")}


def _default_host_ports(container: Wire) -> None:
    for port in parts(container, "ports"):
        if not port.get("hostPort") and port.get("containerPort"):
            port["hostPort"] = port["containerPort"]


def template_errors(template: Wire, path: str) -> Errors:
    """A pod template's rules; its metadata is named without `metadata`, as Kubernetes does."""
    yield from label_errors(part(template, "metadata", "labels"), f"{path}.labels")
    yield from pod_spec_errors(part(template, "spec"), f"{path}.spec")
    if parts(template, "spec", "ephemeralContainers"):
        why = "ephemeral containers not allowed in pod template"
        yield forbidden(f"{path}.spec.ephemeralContainers", why)


def _default_controller(controller: Wire) -> None:
    """The labels of its template stand in for its selector and for labels of its own."""
    spec = grown(controller, "spec")
    fill(spec, replicas=1)
    if not isinstance(spec.get("template"), dict):
        return
    default_template(spec, "template")
    labels = part(spec, "template", "metadata", "labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        meta = grown(controller, "metadata")
        if not meta.get("labels"):
            meta["labels"] = dict(labels)


def _controller_errors(controller: Wire) -> Errors:
    spec = part(controller, "spec")
    yield from not_negative(spec, "spec", "minReadySeconds")
    selector = part(spec, "selector")
    if not selector:
        yield required("spec.selector")
    yield from not_negative(spec, "spec", "replicas")
    template = part(spec, "template")
    if not template:
        yield required("spec.template")
        return
    labels = part(template, "metadata", "labels")
    if selector and any(labels.get(key) != value for key, value in selector.items()):
        yield invalid("spec.template.metadata.labels", labels, MISMATCH)
    yield from template_errors(template, "spec.template")
    yield from restart_policy_errors(part(template, "spec"))


POD = Strategy(
    tracks_generation=True,
    has_status=True,
    returns_deleted=True,
    deletes_gracefully=True,
    selectable={path: tuple(path.split(".")) for path in _SELECTABLE},
    default=default_pod,
    errors=lambda pod: pod_spec_errors(part(pod, "spec"), "spec"),
    update_errors=pod_update_errors,
    parts={"resize": resized, "ephemeralcontainers": with_guests},
    part_errors={"resize": resize_errors, "ephemeralcontainers": guest_errors},
    posts={"binding": ("", "v1", "Binding"), "eviction": ("policy", "v1", "Eviction")},
)
POD_TEMPLATE = Strategy(
    tracks_generation=True,
    returns_deleted=True,
    default=lambda obj: default_template(obj, "template"),
    errors=lambda obj: template_errors(part(obj, "template"), "template"),
)
REPLICATION_CONTROLLER = Strategy(
    tracks_generation=True,
    has_status=True,
    scale=Scale(("spec", "replicas"), ("status", "replicas"), ("spec", "selector")),
    orphans_by_default=True,
    selectable={"status.replicas": ("status", "replicas")},
    default=_default_controller,
    errors=_controller_errors,
)
