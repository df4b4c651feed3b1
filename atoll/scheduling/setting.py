"""How a scheduler is set up: its feature gates, its plug-ins and its options."""

from dataclasses import dataclass, field

from atoll.scheduling.features import PLANE_USUAL, USUAL, Features
from atoll.scheduling.plugin import Filter, Plugins
from atoll.scheduling.plugins import DEFAULT


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """`empty_workloads`: selected clusters that get no replica still get the object."""

    features: Features = USUAL
    plugins: Plugins = DEFAULT
    empty_workloads: bool = False
    shared_filters: tuple[Filter, ...] = field(init=False)
    own_filters: tuple[Filter, ...] = field(init=False)

    def __post_init__(self) -> None:
        filters = self.plugins.filters
        object.__setattr__(self, "shared_filters", tuple(f for f in filters if f.shared))
        object.__setattr__(self, "own_filters", tuple(f for f in filters if not f.shared))


ORDINARY = Setting()
USUAL_SETTING = Setting(features=PLANE_USUAL)
"""A plane's."""
