"""RuntimeClass, the one kind of node.k8s.io/v1: what runs the containers of a pod."""

from atoll.apiserver.fields.error import FieldError, duplicate, invalid, required
from atoll.apiserver.kinds.amounts import amounts_errors
from atoll.apiserver.kinds.labels import label_errors
from atoll.apiserver.kinds.reading import Object, each, part, parts, text
from atoll.apiserver.kinds.rules import unchanged
from atoll.apiserver.kinds.tolerations import toleration_errors
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import label_faults


def _class_errors(runtime: Object) -> list[FieldError]:
    handler = text(runtime, "handler")
    errors = [invalid("handler", handler, reason) for reason in label_faults(handler)]
    if not handler:
        errors = [required("handler")]
    errors += amounts_errors(part(runtime, "overhead", "podFixed"), "overhead.limits")
    scheduling = part(runtime, "scheduling")
    errors += label_errors(part(scheduling, "nodeSelector"), "scheduling.nodeSelector")
    tolerations, where = parts(scheduling, "tolerations"), "scheduling.tolerations"
    errors += toleration_errors(tolerations, where)
    seen = []
    for toleration, place in each(tolerations, where):
        key = [toleration.get(name) for name in ("key", "operator", "value", "effect")]
        if key in seen:
            errors.append(duplicate(place, toleration))
        seen.append(key)
    return errors


def _class_update_errors(new: Object, old: Object) -> list[FieldError]:
    return unchanged(new, old, "handler")


RUNTIME_CLASS = Strategy(
    unconditional_update=False,
    creates_on_update=True,
    errors=_class_errors,
    update_errors=_class_update_errors,
)
