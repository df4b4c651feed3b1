"""What the store keeps and what it tells: a record, and the event of its change.

Both are shared by all readers and never changed after they are published, except for the two slots
made for it: `view` and `frames` hold what readers computed from the bytes, so that it is computed
once. The store itself never looks into the bytes.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, eq=False)
class Record:
    """One object as of one revision. `view` is for readers to keep what they decoded."""

    collection: str
    name: str
    revision: int
    value: bytes
    view: Any = None


@dataclass(slots=True, eq=False)
class Event:
    """One change. A removal's `after` is the final bytes at the revision of the removal.

    `frames` is for watch encoders, so that an event is encoded once for all watchers. The store
    empties it once the event is far behind the newest.
    """

    revision: int
    before: Record | None
    after: Record
    removed: bool
    frames: dict[Any, Any] = field(default_factory=dict)
