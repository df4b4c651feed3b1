"""Spans of time as Go writes them, and so as Kubernetes and Karmada take them."""

import re

_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PIECE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|ns)", flags=re.ASCII)


def parse(written: str) -> float | None:
    """A span such as 10s, 1h30m or 250ms, in seconds; None if it is none, or a negative one."""
    if written == "0":
        return 0.0
    pieces = list(_PIECE.finditer(written))
    if not pieces or "".join(each[0] for each in pieces) != written:
        return None
    return sum(float(each[1]) * _SECONDS[each[2]] for each in pieces)
