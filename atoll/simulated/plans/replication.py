"""ReplicationControllers: the elder replica sets, whose selectors are plain labels.

A replication controller comes in; what a replica set of its wishes would have done goes out.
"""

from atoll.simulated.plans import replicas
from atoll.simulated.plans.setting import Setting
from atoll.simulated.plans.steps import Plan, status_change
from atoll.wire import Object

COLLECTION = "replicationcontrollers"


def plan(controller: Object, setting: Setting) -> Plan:
    """What to do about a replication controller."""
    spec = controller["spec"]
    meant = {**controller, "spec": {**spec, "selector": {"matchLabels": spec["selector"]}}}
    pods = setting.pods_of(controller["metadata"]["uid"])
    steps = replicas.pod_steps(meant, pods, setting)
    if steps:
        return Plan(steps)
    fresh = replicas.status(meant, pods, setting)
    again_s = replicas.ripening_s(meant, fresh)
    return Plan(status_change(COLLECTION, controller, fresh), again_s)
