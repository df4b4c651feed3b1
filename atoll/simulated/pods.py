"""How many pods a workload has, and how far they are: what every status is made from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pods:
    """The pods of one workload at one moment.

    `wanted` exist, `given` of them have room to run, `ready` of those are ready; `updated` of all
    are of the newest template; `ended` more have done their work and are gone.
    """

    wanted: int = 0
    given: int = 0
    ready: int = 0
    updated: int = 0
    ended: int = 0
