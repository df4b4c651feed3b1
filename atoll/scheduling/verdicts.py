"""What filters say: a code for every cluster, and the reasons the codes stand for."""

from dataclasses import dataclass

import numpy as np

from atoll.scheduling.columns import Codes, Mask


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """Code 0 lets a cluster pass; code k turns it away for `reasons[k - 1]`."""

    codes: Codes
    reasons: tuple[str, ...]

    @classmethod
    def turning_away(cls, turned_away: Mask, reason: str) -> "Verdicts":
        """One reason for all who are turned away."""
        return cls(turned_away.astype(np.uint16), (reason,))

    @property
    def passes(self) -> Mask:
        return np.equal(self.codes, 0)

    def reason(self, row: int) -> str | None:
        """Why a cluster is turned away, if it is."""
        code = self.codes[row]
        return self.reasons[code - 1] if code else None
