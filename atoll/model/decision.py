"""What came of a decision, in Karmada's words: the reasons of the `Scheduled` condition."""

from enum import StrEnum


class Verdict(StrEnum):
    """How a decision ended."""

    SUCCESS = "Success"
    NO_CLUSTER_FIT = "NoClusterFit"
    UNSCHEDULABLE = "Unschedulable"
    SCHEDULER_ERROR = "SchedulerError"
