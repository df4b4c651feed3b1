"""Server-side apply and field ownership: what the verbs call after each write, before it is stored.

Everything here computes on values: the object before and after, its Schema, who writes and when.
"""

from atoll.apiserver.applying.applies import after_apply
from atoll.apiserver.applying.scaling import after_scale, scale_entries
from atoll.apiserver.applying.updates import Writer, after_update, settled

__all__ = ["Writer", "after_apply", "after_scale", "after_update", "scale_entries", "settled"]
