"""What the controllers of a simulated cluster complain of, as Events for people to read."""

from atoll.simulated.plans.steps import Make
from atoll.wire import Object

COLLECTION = "events"


def failed_create(pod: Object, why: str, now: str) -> Make:
    """That a pod could not be made, told of whoever wants it; once, while that is remembered."""
    meta = pod["metadata"]
    owner = next(iter(meta.get("ownerReferences") or ()), {"kind": "Pod", "name": meta["name"]})
    component = f"{owner['kind'].lower()}-controller"
    about = {key: owner[key] for key in ("apiVersion", "kind", "name", "uid") if key in owner}
    name = f"{owner['name']}.{owner.get('uid', '')[:13]}".rstrip(".")
    return Make(
        COLLECTION,
        {
            "metadata": {"name": name, "namespace": meta["namespace"]},
            "involvedObject": {**about, "namespace": meta["namespace"]},
            "reason": "FailedCreate",
            "message": f"Error creating: {why}",
            "source": {"component": component},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": "Warning",
            "eventTime": None,
            "reportingComponent": component,
            "reportingInstance": "",
        },
    )
