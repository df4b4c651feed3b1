"""The audit log as the user chose it: where it is, when it is put aside, and what it records."""

from collections.abc import Callable, Iterable
from datetime import datetime

from atoll.apiserver.audit.policy import USUAL, Policy, read_policy
from atoll.config import AuditChoice
from atoll.errors import UsageError
from atoll.instruments.families import Family
from atoll.runtime.log_file import LogFile, Rotation

MEGABYTE = 1024 * 1024
USUAL_MAXSIZE = 100


def chosen_policy(choice: AuditChoice) -> Policy:
    """The policy of the user's file; without one, the usual. UsageError if it cannot be used."""
    if choice.policy is None:
        return USUAL
    try:
        return read_policy(choice.policy.read_text(), str(choice.policy))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the audit policy {choice.policy} cannot be read: {error}") from error


def open_log(choice: AuditChoice, now: Callable[[], datetime]) -> LogFile:
    """The log at the place that was chosen; UsageError if it cannot be written there."""
    assert choice.log is not None, "only a log that was asked for is opened"
    most = (choice.maxsize or USUAL_MAXSIZE) * MEGABYTE
    rotation = Rotation(most, choice.maxbackup, choice.maxage)
    try:
        return LogFile(choice.log, rotation, now)
    except OSError as error:
        raise UsageError(f"the audit log {choice.log} cannot be written: {error}") from error


def numbers_of(log: LogFile) -> Iterable[Family]:
    """How many events were recorded, and how many were not."""
    known = {
        "apiserver_audit_event_total": ("Events recorded.", log.written),
        "apiserver_audit_error_total": ("Events that could not be recorded.", log.lost),
    }
    for name, (told, count) in known.items():
        yield name, "counter", told, [("", (), float(count))]
