"""What Atoll knows without being told: other projects' kinds that many use, and Kubernetes' own.

A kind without a question's answer is as objects are in general: it reports its whole status, is
healthy, keeps nothing of a member's and needs nothing beside it.
"""

from dataclasses import replace

from atoll.interpreting import aggregating, depending, healthy, reflecting, replicas, retaining
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
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    SERVICE_IMPORT,
    STATEFUL_SET,
    VOLUME,
)
from atoll.interpreting.operations import Interpretation, Interpreters, Layer
from atoll.interpreting.thirdparty.argo import ARGO
from atoll.interpreting.thirdparty.flink import FLINK
from atoll.interpreting.thirdparty.flux import FLUX
from atoll.interpreting.thirdparty.kruise import KRUISE
from atoll.interpreting.thirdparty.kubeflow import KUBEFLOW
from atoll.interpreting.thirdparty.kyverno import KYVERNO
from atoll.interpreting.thirdparty.ray import RAY
from atoll.interpreting.thirdparty.spark import SPARK
from atoll.interpreting.thirdparty.volcano import VOLCANO

_REPLICAS = Interpretation(
    replicas=replicas.of_workload,
    revise=replicas.with_replicas,
    aggregate=aggregating.workload,
    reflect=reflecting.workload,
    health=healthy.rolled_out,
    dependencies=depending.of_pods,
)
NATIVE: Layer = {
    DEPLOYMENT: replace(_REPLICAS, retain=retaining.replicas),
    REPLICA_SET: replace(_REPLICAS, health=healthy.available),
    STATEFUL_SET: replace(_REPLICAS, dependencies=depending.of_stateful_set),
    DAEMON_SET: replace(_REPLICAS, replicas=None, revise=None, health=healthy.on_all_nodes),
    JOB: Interpretation(
        replicas=replicas.of_job,
        revise=replicas.with_parallelism,
        retain=retaining.job,
        aggregate=aggregating.job,
        reflect=reflecting.chosen("conditions", "startTime", "completionTime"),
        dependencies=depending.of_pods,
    ),
    CRON_JOB: Interpretation(aggregate=aggregating.cron_job, dependencies=depending.of_pods),
    POD: Interpretation(
        replicas=replicas.of_pod,
        retain=retaining.pod,
        aggregate=aggregating.pod,
        health=healthy.ready_or_done,
        dependencies=depending.of_pods,
    ),
    SERVICE: Interpretation(
        retain=retaining.service,
        aggregate=aggregating.service,
        reflect=reflecting.service,
        health=healthy.served,
    ),
    SERVICE_ACCOUNT: Interpretation(retain=retaining.service_account),
    SECRET: Interpretation(retain=retaining.secret),
    CLAIM: Interpretation(
        retain=retaining.claim, aggregate=aggregating.claim, health=healthy.bound
    ),
    VOLUME: Interpretation(retain=retaining.volume, aggregate=aggregating.volume),
    INGRESS: Interpretation(
        aggregate=aggregating.ingress,
        health=healthy.reachable,
        dependencies=depending.of_ingress,
    ),
    BUDGET: Interpretation(
        aggregate=aggregating.budget,
        reflect=reflecting.chosen("disruptedPods"),
        health=healthy.enough_pods,
    ),
    AUTOSCALER: Interpretation(aggregate=aggregating.autoscaler, reflect=reflecting.chosen()),
    SERVICE_IMPORT: Interpretation(dependencies=depending.of_service_import),
}
THIRD_PARTY: Layer = ARGO | FLINK | FLUX | KRUISE | KUBEFLOW | KYVERNO | RAY | SPARK | VOLCANO
BUILT_IN = Interpreters((THIRD_PARTY, NATIVE))
