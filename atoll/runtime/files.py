"""How many files a process may have open: every connection is one, and every store some."""

import resource

ENOUGH = 1_000_000


def raise_file_limit() -> int:
    """Take as many open files as the system grants, and say how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):  # macOS reports a limit that it does not grant
        return soft
    return hard if hard != resource.RLIM_INFINITY else ENOUGH
