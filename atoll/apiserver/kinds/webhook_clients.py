"""How a webhook is reached, as users write it: a URL or a Service, and whom to trust there.

Admission webhooks and the conversion webhooks of CRDs are written alike; here are their shared
defaults and rules. Nobody is called here.
"""

from urllib.parse import urlsplit

from atoll.apiserver.fields.error import FieldError, invalid, required
from atoll.apiserver.kinds.reading import Object, at, given, text
from atoll.apiserver.kinds.rules import PORT_RANGE
from atoll.dialects.kubernetes.names import rfc1035_faults, subdomain_faults

REVIEW_VERSIONS = ("v1", "v1beta1")
_FORM = "; desired format: https://host[/path]"


def default_client(config: Object) -> None:
    """The port of a Service, where it is not said, in place."""
    service = given(config, "service")
    if service is not None and service.get("port") is None:
        service["port"] = 443


def client_errors(config: Object, path: str) -> list[FieldError]:
    """What is wrong with the way to a webhook."""
    url, service = config.get("url"), given(config, "service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    if service is not None:
        return _service_errors(service, f"{path}.service")
    return _url_errors(url or "", f"{path}.url")


def review_version_errors(versions: list[str], path: str, absent: str) -> list[FieldError]:
    """What is wrong with the versions of reviews that a webhook says it understands."""
    if not versions:
        return [required(path, absent)]
    errors = []
    for index, version in enumerate(versions):
        where = f"{path}[{index}]"
        if version in versions[:index]:
            errors.append(invalid(where, version, "duplicate version"))
            continue
        errors += [invalid(where, version, fault) for fault in rfc1035_faults(version)]
    if not any(version in REVIEW_VERSIONS for version in versions):
        why = f"must include at least one of {', '.join(REVIEW_VERSIONS)}"
        errors.append(invalid(path, versions, why))
    return errors


def _url_errors(written: str, where: str) -> list[FieldError]:
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


def _service_errors(service: Object, where: str) -> list[FieldError]:
    errors = [required(f"{where}.{key}") for key in ("name", "namespace") if not text(service, key)]
    port = at(service, "port")
    if isinstance(port, int) and not 1 <= port <= 65535:
        errors.append(invalid(f"{where}.port", port, f"port is not valid: {PORT_RANGE}"))
    return errors + _path_errors(text(service, "path"), f"{where}.path")


def _path_errors(path: str, where: str) -> list[FieldError]:
    if path in ("", "/"):
        return []
    if path == "//":
        return [invalid(where, path, "segment[0] may not be empty")]
    errors = [] if path.startswith("/") else [invalid(where, path, "must start with a '/'")]
    for index, segment in enumerate(path[1:].removesuffix("/").split("/")):
        if not segment:
            errors.append(invalid(where, path, f"segment[{index}] may not be empty"))
            continue
        faults = subdomain_faults(segment)
        errors += [invalid(where, path, f"segment[{index}]: {fault}") for fault in faults]
    return errors
