"""How a scheduler is set up: its feature gates, its plug-ins and its options."""

from dataclasses import dataclass

from atoll.scheduling.features import USUAL, Features
from atoll.scheduling.plugin import Plugins
from atoll.scheduling.plugins import DEFAULT


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """`empty_workloads`: selected clusters that get no replica still get the object."""

    features: Features = USUAL
    plugins: Plugins = DEFAULT
    empty_workloads: bool = False


ORDINARY = Setting()
