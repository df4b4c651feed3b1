"""Work that was put on a cluster but does not show in its summary yet; its room is taken."""

from dataclasses import dataclass

from atoll.model.demand import Component


@dataclass(frozen=True, slots=True)
class Assumed:
    """What one recent decision put on one cluster."""

    cluster: str
    components: tuple[Component, ...] = ()
