"""Who gets a replica that two clusters claim equally."""

from atoll.model.binding import Binding
from atoll.model.intent import TieBreak
from atoll.scheduling import webster

_UID_PARITY = TieBreak.UID_PARITY


def ties_descend(binding: Binding) -> bool:
    """Whether the last name wins a tie, rather than the first."""
    by_uid = binding.intent.tie_break is _UID_PARITY
    return by_uid and webster.descends(binding.resource.uid)
