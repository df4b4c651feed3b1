"""What can go wrong with the testenv; each message is one line that says why.

Unavailable     the binaries are neither there nor can they be built: tests against them are skipped
StartFailed     they are there but would not start: a test fails, with the tail of the log
"""


class Unavailable(Exception):
    pass


class StartFailed(Exception):
    pass
