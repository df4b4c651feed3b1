"""What Atoll knows of Kubernetes' own kinds: the layer behind all others."""

from collections.abc import Callable, Mapping

from atoll.dialects.wire import Wire
from atoll.interpreting.aggregating import addresses, jobs, phases, workloads
from atoll.interpreting.depending import DEPENDENCIES
from atoll.interpreting.healthy import HEALTH
from atoll.interpreting.kinds import (
    AUTOSCALER,
    BUDGET,
    CLAIM,
    CRON_JOB,
    DAEMON_SET,
    DEPLOYMENT,
    INGRESS,
    JOB,
    POD,
    REPLICA_SET,
    SERVICE,
    STATEFUL_SET,
    VOLUME,
    Kind,
)
from atoll.interpreting.operations import Interpretation, Interpreters, Item, Layer
from atoll.interpreting.reflecting import REFLECTED
from atoll.interpreting.replicas import COUNTED, REVISED
from atoll.interpreting.retaining import RETAINED

AGGREGATED: Mapping[Kind, Callable[[Wire, tuple[Item, ...]], Wire | None]] = {
    DEPLOYMENT: workloads.workload,
    REPLICA_SET: workloads.workload,
    STATEFUL_SET: workloads.workload,
    DAEMON_SET: workloads.workload,
    AUTOSCALER: workloads.autoscaler,
    BUDGET: workloads.budget,
    SERVICE: addresses.service,
    INGRESS: addresses.ingress,
    JOB: jobs.job,
    CRON_JOB: jobs.cron_job,
    POD: phases.pod,
    VOLUME: phases.volume,
    CLAIM: phases.claim,
}
_KNOWN = sorted(
    {*COUNTED, *REVISED, *RETAINED, *AGGREGATED, *REFLECTED, *HEALTH, *DEPENDENCIES},
)

NATIVE: Layer = {
    kind: Interpretation(
        replicas=COUNTED.get(kind),
        revise=REVISED.get(kind),
        retain=RETAINED.get(kind),
        aggregate=AGGREGATED.get(kind),
        reflect=REFLECTED.get(kind),
        health=HEALTH.get(kind),
        dependencies=DEPENDENCIES.get(kind),
    )
    for kind in _KNOWN
}
NATIVE_ONLY = Interpreters((NATIVE,))
