"""CustomResourceDefinition itself, as a kind: its defaults and how it is written.

What a definition says about others (schemas, names, columns) is the business of `schemas`, and its
rules in CEL are that of `validations`.
"""

from atoll.apiserver.fields.error import Errors, required
from atoll.apiserver.kinds.admission_webhooks import (
    client_errors,
    default_client,
    review_version_errors,
)
from atoll.apiserver.kinds.reading import fill, given, grown, items, part, parts, text
from atoll.apiserver.objects.conditions import condition, since
from atoll.apiserver.resource import Strategy
from atoll.apiserver.schemas.definitions import (
    definition_errors,
    definition_update_errors,
    definition_warnings,
)
from atoll.apiserver.validations.faults import rule_faults
from atoll.wire import Wire

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


def _default_definition(definition: Wire) -> None:
    spec = grown(definition, "spec")
    names = grown(spec, "names")
    kind = text(names, "kind")
    if kind:
        fill(names, singular=kind.lower(), listKind=f"{kind}List")
    conversion = grown(spec, "conversion")
    fill(conversion, strategy="None")
    default_client(part(conversion, "webhook", "clientConfig"))


def _errors(definition: Wire) -> Errors:
    yield from definition_errors(definition, judge=rule_faults)
    yield from _conversion_errors(part(definition, "spec"))


def _conversion_errors(spec: Wire) -> Errors:
    conversion, path = part(spec, "conversion"), "spec.conversion"
    if conversion.get("strategy") != "Webhook":
        return
    webhook = part(conversion, "webhook")
    config, versions = given(webhook, "clientConfig"), items(webhook, "conversionReviewVersions")
    where = f"{path}.webhookClientConfig"
    if config is None:
        yield required(where, "required when strategy is set to Webhook")
    else:
        yield from client_errors(config, where)
    yield from review_version_errors(versions, f"{path}.conversionReviewVersions", "")


def _begin(definition: Wire) -> None:
    """A new definition has no conditions but those already found; it stores in its version."""
    stored = [text(v, "name") for v in parts(definition, "spec", "versions") if v.get("storage")]
    status = grown(definition, "status")
    status.setdefault("conditions", None)
    fill(grown(status, "acceptedNames"), plural="", kind="")
    status.setdefault("storedVersions", stored)


def _end(definition: Wire, now: str) -> Wire:
    """A definition that is deleted waits until its objects are gone, and says so."""
    metadata, status = definition["metadata"], definition.get("status") or {}
    message = "CustomResource deletion is in progress"
    ending = condition("Terminating", "InstanceDeletionInProgress", message, holds=True)
    known = status.get("conditions") or []
    return {
        **definition,
        "metadata": {**metadata, "finalizers": [*(metadata.get("finalizers") or []), CLEANUP]},
        "status": {**status, "conditions": [*known, since(ending, known, now)]},
    }


DEFINITION = Strategy(
    tracks_generation=True,
    has_status=True,
    unconditional_update=False,
    default=_default_definition,
    errors=_errors,
    update_errors=definition_update_errors,
    prepare_create=_begin,
    begin_delete=_end,
    warnings=definition_warnings,
)
