"""The exception tree. The type alone tells the catcher what is known and what to do.

    AtollError
      StoreError
        Gone            the view asked for is compacted   -> list again
        NotDurable      the disk refused the write        -> nothing was stored; tell the caller
        Damaged         the data directory is not usable  -> restore a backup; nothing was changed
      Malformed         bytes do not say a value          -> tell who sent them why
      UsageError        the user's command or file is wrong -> tell the user; do not retry
      Invalid           the user's object is wrong        -> tell the user where; do not retry

What an API client is told is a `Status` (see `apiserver.status.ApiError`), not one of these.
A broken invariant is an AssertionError.
"""


class AtollError(Exception):
    """Whatever Atoll itself raises on purpose, outside the API's own Status errors."""


class StoreError(AtollError):
    """The store could not do what was asked."""


class Gone(StoreError):
    """The revision asked for is older than the history kept. List again and watch from there."""

    def __init__(self, revision: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {revision} ({oldest})")
        self.revision = revision
        self.oldest = oldest


class NotDurable(StoreError):
    """The write could not be made durable (a full disk, an I/O error). Nothing was stored."""


class Damaged(StoreError):
    """The data directory cannot be used as it is. Nothing in it was changed."""


class Malformed(AtollError):
    """The bytes do not say a value; the message is what a client is told."""


class UsageError(AtollError):
    """The user's command, flag or file is wrong; the message says what to do instead."""


class Invalid(AtollError):
    """An object cannot be meant as it is written: the field, what it holds, and what is wrong."""

    def __init__(self, field: str, value: object, problem: str) -> None:
        super().__init__(f"{field}: {value!r}: {problem}")
        self.field = field
        self.value = value
        self.problem = problem
