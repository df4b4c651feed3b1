"""The columns of priority classes."""

from atoll.apiserver.kinds.columns.cells import AGE, NAME, count
from atoll.apiserver.kinds.reading import text
from atoll.apiserver.resource import Column

PRIORITY_CLASS = (
    NAME,
    count("Value", "value"),
    Column("Global-Default", lambda obj: bool(obj.get("globalDefault")), type="boolean"),
    AGE,
    Column("PreemptionPolicy", lambda obj: text(obj, "preemptionPolicy")),
)
