"""The kinds that say which admission webhooks there are: their defaults and rules.

Who is called when, and how, is the business of `webhooks`.
"""

from urllib.parse import urlsplit

from atoll.apiserver.fields.error import Errors, faulty, invalid, required
from atoll.apiserver.kinds.admission_rules import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATION_POLICIES,
    condition_errors,
    default_match,
    default_rules,
    rule_errors,
)
from atoll.apiserver.kinds.labels import selector_errors
from atoll.apiserver.kinds.reading import each, given, items, part, parts, text
from atoll.apiserver.kinds.rules import PORT_RANGE, in_each, in_range, needed, one_of, unique
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import rfc1035_faults, subdomain_faults
from atoll.wire import Wire

REVIEW_VERSIONS = ("v1", "v1beta1")
_FORM = "; desired format: https://host[/path]"


def default_client(config: Wire) -> None:
    """The port of a Service, where it is not said, in place."""
    service = given(config, "service")
    if service is not None and service.get("port") is None:
        service["port"] = 443


def client_errors(config: Wire, path: str) -> Errors:
    """What is wrong with the way to a webhook."""
    url, service = config.get("url"), given(config, "service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    if service is not None:
        return _service_errors(service, f"{path}.service")
    return _url_errors(url or "", f"{path}.url")


def review_version_errors(versions: list[str], path: str, absent: str) -> Errors:
    """What is wrong with the versions of reviews that a webhook says it understands."""
    if not versions:
        yield required(path, absent)
        return
    for index, version in enumerate(versions):
        where = f"{path}[{index}]"
        if version in versions[:index]:
            yield invalid(where, version, "duplicate version")
            continue
        yield from faulty(where, version, rfc1035_faults(version))
    if not any(version in REVIEW_VERSIONS for version in versions):
        yield invalid(path, versions, f"must include at least one of {', '.join(REVIEW_VERSIONS)}")


def _url_errors(written: str, where: str) -> Errors:
    try:
        url = urlsplit(written)
        _ = url.port
    except ValueError as error:
        return [required(where, f"url must be a valid URL: {error}{_FORM}")]
    user, at_sign, host = url.netloc.rpartition("@")
    checks = [
        (url.scheme != "https", url.scheme, f"'https' is the only allowed URL scheme{_FORM}"),
        (not host, host, f"host must be specified{_FORM}"),
        (bool(at_sign), user, "user information is not permitted in the URL"),
        (bool(url.fragment), url.fragment, "fragments are not permitted in the URL"),
        (bool(url.query), url.query, "query parameters are not permitted in the URL"),
    ]
    return [invalid(where, value, why) for broken, value, why in checks if broken]


def _service_errors(service: Wire, where: str) -> Errors:
    yield from needed(service, where, "name", "namespace")
    why = f"port is not valid: {PORT_RANGE}"
    yield from in_range(service, where, "port", why, 1, most=65535)
    yield from _path_errors(text(service, "path"), f"{where}.path")


def _path_errors(path: str, where: str) -> Errors:
    if path in ("", "/"):
        return
    if path == "//":
        yield invalid(where, path, "segment[0] may not be empty")
        return
    if not path.startswith("/"):
        yield invalid(where, path, "must start with a '/'")
    for index, segment in enumerate(path[1:].removesuffix("/").split("/")):
        if not segment:
            yield invalid(where, path, f"segment[{index}] may not be empty")
            continue
        faults = subdomain_faults(segment)
        yield from (invalid(where, path, f"segment[{index}]: {fault}") for fault in faults)


TIMEOUT_S = 10
_SIDE_EFFECTS = ("None", "NoneOnDryRun")


def _default_validating(configuration: Wire) -> None:
    for webhook in parts(configuration, "webhooks"):
        _default(webhook)


def _default_mutating(configuration: Wire) -> None:
    _default_validating(configuration)
    for webhook in parts(configuration, "webhooks"):
        if webhook.get("reinvocationPolicy") is None:
            webhook["reinvocationPolicy"] = "Never"


def _default(webhook: Wire) -> None:
    if webhook.get("failurePolicy") is None:
        webhook["failurePolicy"] = "Fail"
    if webhook.get("timeoutSeconds") is None:
        webhook["timeoutSeconds"] = TIMEOUT_S
    default_match(webhook)
    default_rules(parts(webhook, "rules"))
    default_client(part(webhook, "clientConfig"))


def _errors(configuration: Wire) -> Errors:
    names: set[str] = set()
    for webhook, where in each(parts(configuration, "webhooks"), "webhooks"):
        yield from _webhook_errors(webhook, where)
        versions = items(webhook, "admissionReviewVersions")
        absent = f"must specify one of {', '.join(REVIEW_VERSIONS)}"
        yield from review_version_errors(versions, f"{where}.admissionReviewVersions", absent)
        name = text(webhook, "name")
        yield from unique(names, name, f"{where}.name") if name else ()


def _webhook_errors(webhook: Wire, path: str) -> Errors:
    yield from _name_errors(text(webhook, "name"), f"{path}.name")
    yield from in_each(webhook, path, "rules", rule_errors)
    yield from one_of(webhook, path, "failurePolicy", FAILURE_POLICIES)
    yield from one_of(webhook, path, "matchPolicy", MATCH_POLICIES)
    if webhook.get("sideEffects") is None:
        yield required(f"{path}.sideEffects", f"must specify one of {', '.join(_SIDE_EFFECTS)}")
    yield from one_of(webhook, path, "sideEffects", _SIDE_EFFECTS)
    why = "the timeout value must be between 1 and 30 seconds"
    yield from in_range(webhook, path, "timeoutSeconds", why, 1, most=30)
    for selector in ("namespaceSelector", "objectSelector"):
        yield from selector_errors(part(webhook, selector), f"{path}.{selector}")
    yield from one_of(webhook, path, "reinvocationPolicy", REINVOCATION_POLICIES)
    yield from client_errors(part(webhook, "clientConfig"), f"{path}.clientConfig")
    conditions, where = parts(webhook, "matchConditions"), f"{path}.matchConditions"
    yield from condition_errors(conditions, where)
    yield from _faults(conditions, where)


def _faults(conditions: list[Wire], where: str) -> Errors:
    if not conditions:
        return []
    # The language is loaded when somebody first speaks it.
    from atoll.apiserver.conditions.judging import condition_faults

    return condition_faults(conditions, where)


def _name_errors(name: str, where: str) -> Errors:
    if not name:
        return [required(where)]
    if faults := subdomain_faults(name):
        return [invalid(where, name, ",".join(faults))]
    if name.count(".") < 2:
        why = "should be a domain with at least three segments separated by dots"
        return [invalid(where, name, why)]
    return []


VALIDATING = Strategy(
    tracks_generation=True,
    unconditional_update=False,
    default=_default_validating,
    errors=_errors,
)
MUTATING = Strategy(
    tracks_generation=True,
    unconditional_update=False,
    default=_default_mutating,
    errors=_errors,
)
