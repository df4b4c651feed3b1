"""For what a ResourceInterpreterWebhookConfiguration is refused, beyond its schema.

Objects come in well-formed. The sentences are Karmada's where it has one.
"""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from atoll.dialects.wire import parts
from atoll.errors import Invalid
from atoll.wire import Object

OPERATIONS = (
    *("*", "AggregateStatus", "InterpretComponent", "InterpretDependency", "InterpretHealth"),
    *("InterpretReplica", "InterpretStatus", "Retain", "ReviseReplica"),
)
CONTEXT_VERSION = "v1alpha1"
_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")


def webhooks(new: Object) -> Iterator[Invalid]:
    """What is wrong with a ResourceInterpreterWebhookConfiguration."""
    known: set[str] = set()
    for here, hook in parts(new, "webhooks", ""):
        if not _DOMAIN.fullmatch(hook["name"]):
            problem = "should be a domain with at least two segments separated by dots"
            yield Invalid(f"{here}.name", hook["name"], problem)
        if hook["name"] in known:
            yield Invalid(f"{here}.name", hook["name"], "must be unique among the webhooks")
        known.add(hook["name"])
        yield from _hook(hook, here)


def _hook(hook: Object, path: str) -> Iterator[Invalid]:
    for here, rule in parts(hook, "rules", path):
        yield from _operations(rule["operations"], f"{here}.operations")
        for key in ("apiGroups", "apiVersions", "kinds"):
            yield from _listed(rule[key], f"{here}.{key}")
    timeout = hook.get("timeoutSeconds")
    if timeout is not None and not 1 <= timeout <= 30:
        problem = "the timeout value must be between 1 and 30 seconds"
        yield Invalid(f"{path}.timeoutSeconds", timeout, problem)
    yield from _client(hook["clientConfig"], f"{path}.clientConfig")
    versions, field = hook["interpreterContextVersions"], f"{path}.interpreterContextVersions"
    if CONTEXT_VERSION not in versions:
        yield Invalid(field, versions, f"must include at least one of {CONTEXT_VERSION}")
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield Invalid(f"{field}[{index}]", version, "duplicate version")


def _operations(operations: list[str], path: str) -> Iterator[Invalid]:
    if not operations:
        yield Invalid(path, operations, f"must name at least one of {', '.join(OPERATIONS)}")
    if len(operations) > 1 and "*" in operations:
        yield Invalid(path, operations, "if '*' is present, must not specify other operations")
    for index, operation in enumerate(operations):
        if operation not in OPERATIONS:
            problem = f"supported values: {', '.join(OPERATIONS)}"
            yield Invalid(f"{path}[{index}]", operation, problem)


def _listed(values: list[str], path: str) -> Iterator[Invalid]:
    if not values:
        yield Invalid(path, values, "must name at least one, or '*' for all")
    if len(values) > 1 and "*" in values:
        yield Invalid(path, values, "if '*' is present, must not specify others")


def _client(config: Object, path: str) -> Iterator[Invalid]:
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        yield Invalid(path, dict(config), "exactly one of url or service is required")
    elif url is not None and not _is_https(url):
        yield Invalid(f"{path}.url", url, "must be a URL that begins with https:// and a host")
    elif service is not None and not 1 <= service.get("port", 443) <= 65535:
        yield Invalid(f"{path}.service.port", service["port"], "must be between 1 and 65535")


def _is_https(written: str) -> bool:
    try:
        url = urlsplit(written)
    except ValueError:
        return False
    return url.scheme == "https" and bool(url.netloc)
