"""What controllers count as they go, under Karmada's names where they mean the same.

Durations and outcomes come in; families for Prometheus go out. How things stand at the moment is
not counted but looked at, when somebody asks: see `states`.
"""

from collections.abc import Iterator

from atoll.instruments.counting import Counter, Histogram, doubling
from atoll.instruments.families import Family
from atoll.model.action import Action, Create, Delete, Ref, Tell, Update

SUCCESS, ERROR = "success", "error"
LATE = "late"  # of a write that was decided on a state that is gone: no harm, it is decided anew
_SHORT = doubling(0.001, 12)
_LONG = doubling(0.001, 15)
_USUAL = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_MEMBER = "member_cluster"
_VERBS = {Create: "create", Update: "update", Delete: "delete", Tell: "tell"}


class Numbers:
    """The counters of one plane's controllers, or of one agent's."""

    def __init__(self) -> None:
        self._of_scheduling()
        self._of_propagation()
        self._of_members()

    def _of_scheduling(self) -> None:
        self.attempts = Counter(
            "karmada_scheduler_schedule_attempts_total",
            "Decisions on bindings, by result and by whether only the replicas had changed.",
            *("result", "schedule_type"),
        )
        self.scheduled = Histogram(
            "karmada_scheduler_e2e_scheduling_duration_seconds",
            "How long decisions took until they were written.",
            _LONG,
            *("result", "schedule_type"),
        )
        self.decided = Histogram(
            "karmada_scheduler_scheduling_algorithm_duration_seconds",
            "How long it took to decide; all steps are one here.",
            _LONG,
            "schedule_step",
        )
        self.incoming = Counter(
            "karmada_scheduler_queue_incoming_bindings_total",
            "Bindings that came to wait for a decision, by why.",
            "event",
        )
        self.outcomes = Counter(
            "atoll_decisions_total", "Decisions on bindings, by how they ended.", "outcome"
        )

    def _of_propagation(self) -> None:
        self.matched = Histogram(
            "resource_match_policy_duration_seconds",
            "How long it took to find the policy of a template.",
            _SHORT,
        )
        self.applied = Histogram(
            "resource_apply_policy_duration_seconds",
            "How long it took to apply a policy to a template, by result.",
            _SHORT,
            "result",
        )
        self.policies = Counter(
            "policy_apply_attempts_total", "Policies applied to templates, by result.", "result"
        )
        self.works = Histogram(
            "binding_sync_work_duration_seconds",
            "How long it took to write the Works of a binding, by result.",
            _SHORT,
            "result",
        )
        self.workloads = Histogram(
            "work_sync_workload_duration_seconds",
            "How long it took to make a member have what a Work says, by result.",
            _SHORT,
            "result",
        )
        self.evictions = Counter(
            "eviction_processing_total", "Evictions processed, by result.", "name", "result"
        )
        self.evicted = Histogram(
            "eviction_processing_latency_seconds",
            "How long evictions took to process.",
            _LONG,
            "name",
        )

    def _of_members(self) -> None:
        kind = ("result", "apiversion", "kind", _MEMBER)
        self.creates = Counter(
            "create_resource_to_cluster", "Objects created in members.", *kind, "recreate"
        )
        self.updates = Counter(
            "update_resource_to_cluster", "Objects updated in members.", *kind, "operationResult"
        )
        self.deletes = Counter(
            "delete_resource_from_cluster", "Objects deleted from members.", *kind
        )
        self.statuses = Histogram(
            "cluster_sync_status_duration_seconds",
            "How long it took to look at a member and to write its status.",
            _USUAL,
            _MEMBER,
        )
        self.estimates = Counter(
            "atoll_estimator_requests_total",
            "Questions to the estimators of members, by result.",
            *("result", _MEMBER),
        )
        self.writes = Counter(
            "atoll_writes_total",
            "Writes of controllers, by what they do, where (plane or member), and result.",
            *("action", "at", "result"),
        )

    def apply_took(self, seconds: float, result: str) -> None:
        self.applied.note(seconds, result)
        self.policies.add(result)

    def works_took(self, seconds: float, result: str) -> None:
        self.works.note(seconds, result)

    def workload_took(self, seconds: float, result: str) -> None:
        self.workloads.note(seconds, result)

    def eviction_took(self, seconds: float, result: str) -> None:
        self.evicted.note(seconds, "eviction")
        self.evictions.add("eviction", result)

    def schedule_took(self, seconds: float, *, ok: bool, scaled: bool, outcome: str) -> None:
        """A decision was made and, if it is `ok`, written."""
        result = "scheduled" if ok else ERROR
        why = "ScaleSchedule" if scaled else "ReconcileSchedule"
        self.attempts.add(result, why)
        self.scheduled.note(seconds, result, why)
        self.outcomes.add(outcome)

    def wrote(self, action: Action, result: str, *, at_member: bool) -> None:
        """Something was written; of members that are gone nothing is kept."""
        self.writes.add(_VERBS[type(action)], "member" if at_member else "plane", result)
        if not at_member or isinstance(action, Tell):
            return
        ref = action.ref if isinstance(action, Delete) else Ref.of(action.object)
        known = SUCCESS if result == SUCCESS else ERROR
        labels = (known, ref.api_version, ref.kind, action.at)
        match action:
            case Create():
                self.creates.add(*labels, "false")
            case Update():
                self.updates.add(*labels, "updated" if result == SUCCESS else "none")
            case Delete():
                self.deletes.add(*labels)

    def forget(self, member: str) -> None:
        """A member has left, and takes its numbers with it."""
        for each in (self.creates, self.updates, self.deletes, self.statuses, self.estimates):
            each.forget(_MEMBER, member)

    def families(self) -> Iterator[Family]:
        for each in vars(self).values():
            yield each.family()
