"""How a rule of admission says no: the reason as Kubernetes gives it, without saying of what."""


class Refused(Exception):
    """Why an object may not be written."""
