"""Admission webhooks: who is asked about a write, in which order, and what becomes of the answers.

Those who may change the object are asked one after the other, and once more if others changed it
after them; those who only allow or refuse are asked all at once.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from atoll.apiserver.admission import Admission, Fit
from atoll.apiserver.audit.annotating import annotate
from atoll.apiserver.authorization import Authorize
from atoll.apiserver.bodies.patches import JSON_PATCH, decode_patch
from atoll.apiserver.kinds.reading import items
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.resource import Resource
from atoll.apiserver.status import ApiError, bad_request, forbidden, internal_error, not_found
from atoll.apiserver.verbs.call import Api
from atoll.apiserver.webhooks.calling import CallFailed, Calling
from atoll.apiserver.webhooks.configured import GROUP, Configured, Sorts, stored
from atoll.apiserver.webhooks.reviews import (
    BadAnswer,
    Seen,
    Verdict,
    denial,
    request_of,
    spoken_version,
    verdict_of,
)
from atoll.apiserver.webhooks.views import Unfit, patched, seen_by, with_object
from atoll.apiserver.webhooks.webhook import MUTATING, VALIDATING, Webhook, webhooks_of
from atoll.runtime.children import Children
from atoll.store.record import Event
from atoll.wire import Wire

log = logging.getLogger("atoll.apiserver")


class Webhooks:
    """The admission webhooks of one server."""

    def __init__(self, api: Api, calling: Calling, authorize: Authorize) -> None:
        self._api = api
        self._authorize = authorize
        self._calling = calling
        # Nobody may keep an administrator from taking a webhook away.
        self._configured = Configured(api, (MUTATING, VALIDATING), (GROUP,), self._read)

    def _read(self) -> Sorts[Webhook]:
        mutating, validating = (stored(self._api, each) for each in (MUTATING, VALIDATING))
        return tuple(webhooks_of(mutating)), tuple(webhooks_of(validating))

    def load(self) -> None:
        self._configured.load()

    def follow(self, events: Sequence[Event]) -> None:
        self._configured.follow(events)

    async def run(self) -> None:
        await self._calling.keep()

    def concerns(self, resource: Resource) -> bool:
        return self._configured.concerns(resource)

    async def mutated(self, admission: Admission, fit: Fit) -> Wire:
        return await _Asking(self, self._api, self._wanted(admission, 0), fit).mutated(admission)

    async def check(self, admission: Admission) -> None:
        if admission.object is None or admission.operation == "CONNECT":
            # There is nothing to change, but they are told.
            for webhook, resource in self._meant(admission, 0):
                seen = await seen_by(self._api, admission, resource, mutating=True)
                if await self.operations(webhook, seen):
                    raise internal_error(
                        f'admission webhook "{webhook.name}" attempted to modify the object, which'
                        " is not supported for this operation"
                    )
        meant = self._meant(admission, 1)
        if not meant:
            return
        async with Children("webhooks") as children:
            asked = [
                children.spawn(self._refusal(webhook, admission, resource), webhook.name)
                for webhook, resource in meant
            ]
            refusals = [await task for task in asked]
        for refusal in refusals:
            if refusal is not None:
                raise refusal

    async def _refusal(
        self, webhook: Webhook, admission: Admission, resource: Resource
    ) -> ApiError | None:
        try:
            seen = await seen_by(self._api, admission, resource, mutating=False)
            await self.ask(webhook, seen, mutating=False)
        except ApiError as error:
            return error
        return None

    def _wanted(self, admission: Admission, which: int) -> list[tuple[Webhook, Resource]]:
        """Who wants to be asked about this write by their rules, and in which version."""
        versions = self._configured.versions(admission.resource)
        found = (
            (webhook, webhook.wants(admission, versions))
            for webhook in self._configured.about(admission.resource)[which]
        )
        return [(webhook, resource) for webhook, resource in found if resource is not None]

    def _meant(self, admission: Admission, which: int) -> list[tuple[Webhook, Resource]]:
        """Of those, who selects it as it is."""
        wanted = self._wanted(admission, which)
        return [
            (webhook, resource) for webhook, resource in wanted if self.selects(webhook, admission)
        ]

    def selects(self, webhook: Webhook, admission: Admission) -> bool:
        """Whether a webhook selects the namespace and the object of a write."""
        return webhook.selects_object(admission) and self._in_namespace(webhook, admission)

    def _in_namespace(self, webhook: Webhook, admission: Admission) -> bool:
        is_namespace = admission.resource.collection == "namespaces"
        if not webhook.namespaces or not (is_namespace or admission.resource.namespaced):
            return True
        if is_namespace and not admission.subresource and admission.object is not None:
            return webhook.namespaces.matches(metadata(admission.object).get("labels") or {})
        name = admission.name if is_namespace else admission.namespace
        record = self._api.store.latest("namespaces", name)
        if record is None:
            raise not_found("namespaces", "", name)
        return webhook.namespaces.matches(metadata(orjson.loads(record.value)).get("labels") or {})

    async def ask(self, webhook: Webhook, seen: Seen, *, mutating: bool) -> Verdict | None:
        """What a webhook says, if it allows the write; None if it could not say and need not."""
        admission = seen.admission
        if webhook.conditions and not self._applies(webhook, seen):
            return None
        if admission.dry_run and not webhook.is_for_dry_runs:
            raise bad_request(f'admission webhook "{webhook.name}" does not support dry run')
        try:
            verdict = await self._verdict(webhook, seen, mutating=mutating)
        except CallFailed as error:
            self._failed(webhook, error, mutating=mutating)
            return None
        for key, value in verdict.annotations.items():
            annotate(f"{webhook.name}/{key}", str(value))
        for warning in verdict.warnings:
            if warning not in admission.warnings:
                admission.warnings.append(warning)
        if not verdict.is_allowed:
            raise denial(webhook.name, verdict.status)
        return verdict

    def _failed(self, webhook: Webhook, error: CallFailed, *, mutating: bool) -> None:
        """ApiError for a webhook that could not be asked, unless it may be passed over."""
        told = f'failed calling webhook "{webhook.name}": {error}'
        if not webhook.fails_open:
            raise internal_error(told) from error
        log.warning("%(err)s; its policy is to go on without it", {"err": told})
        kind, which = ("mutation", 0) if mutating else ("validating", 1)
        place = f"round_0_index_{self._configured.every[which].index(webhook)}"
        annotate(f"failed-open.{kind}.webhook.admission.k8s.io/{place}", webhook.name)

    async def operations(self, webhook: Webhook, seen: Seen) -> list[Any]:
        """What a webhook wants changed, as a JSON patch; nothing, mostly."""
        verdict = await self.ask(webhook, seen, mutating=True)
        if verdict is None or not verdict.patch:
            return []
        try:
            return _operations(verdict)
        except CallFailed as error:
            self._failed(webhook, error, mutating=True)
            return []

    def _applies(self, webhook: Webhook, seen: Seen) -> bool:
        """Whether the conditions hold under which a webhook wants to be asked."""
        # Conditions are there, so the language was loaded when they were compiled.
        from atoll.apiserver.conditions import evaluated

        admission, request = seen.admission, request_of(seen, "", "v1")["request"]
        authorizer = evaluated.authorizer_of(admission, self._authorize)
        names = evaluated.names_of(request, seen.object, seen.old, authorizer)
        asked = evaluated.Asked(names)
        asked.names["namespaceObject"] = None
        try:
            return evaluated.applies(webhook.conditions, asked)
        except evaluated.Unanswered as fault:
            if webhook.fails_open:
                return False
            resource = admission.resource
            raise forbidden(resource.plural, resource.group, seen.name, str(fault)) from fault

    async def _verdict(self, webhook: Webhook, seen: Seen, *, mutating: bool) -> Verdict:
        version = spoken_version(items(webhook.wire, "admissionReviewVersions"))
        if version is None:
            why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)"
            raise CallFailed("could not create admission objects", why)
        uid = self._api.effects.chance.uuid("reviews")
        body = orjson.dumps(request_of(seen, uid, version))
        answer = await self._calling.call(webhook.wire["clientConfig"], body, webhook.timeout_s)
        try:
            return verdict_of(answer, uid, version, mutating=mutating)
        except BadAnswer as error:
            raise CallFailed("received invalid webhook response", str(error)) from error


def _operations(verdict: Verdict) -> list[Any]:
    if verdict.patch_type != "JSONPatch":
        raise CallFailed(f'unsupported patch type "{verdict.patch_type}"')
    try:
        operations: list[Any] = decode_patch(verdict.patch, JSON_PATCH).value
    except ApiError as error:
        why = error.message.removeprefix("error decoding patch: ")
        raise CallFailed("received undecodable patch in webhook response", why) from error
    return operations


@dataclass(slots=True)
class _Asking:
    """Asking those who may change one object, in two rounds at most."""

    webhooks: Webhooks
    api: Api
    meant: list[tuple[Webhook, Resource]]
    fit: Fit
    _asked: set[Webhook] = field(default_factory=set)  # and would be again, if need be
    _due: set[Webhook] = field(default_factory=set)

    async def mutated(self, admission: Admission) -> Wire:
        before = admission.object
        assert before is not None, "only creations and updates are mutated"
        obj = await self._round(admission, lambda _: True)
        if obj is before:
            return before
        fitted = self.fit(obj)
        if fitted != obj:
            self._note_change()
        admission = with_object(admission, fitted)
        obj = await self._round(admission, self._due.__contains__)
        return fitted if obj is fitted else self.fit(obj)

    async def _round(self, admission: Admission, is_due: Callable[[Webhook], bool]) -> Wire:
        assert admission.object is not None
        for webhook, resource in self.meant:
            if not is_due(webhook) or not self.webhooks.selects(webhook, admission):
                continue
            seen = await seen_by(self.api, admission, resource, mutating=True)
            obj = await self._changed(webhook, seen)
            if obj is not None:
                self._note_change()
                admission = with_object(admission, obj)
            if webhook.is_called_again:
                self._asked.add(webhook)
        assert admission.object is not None
        return admission.object

    def _note_change(self) -> None:
        """Whoever was asked before is asked again, if they want to be."""
        self._due |= self._asked
        self._asked.clear()

    async def _changed(self, webhook: Webhook, seen: Seen) -> Wire | None:
        """The object as this webhook wants it; None if it leaves it as it is."""
        operations = await self.webhooks.operations(webhook, seen)
        if not operations:
            return None
        try:
            obj = await patched(self.api, seen, operations)
        except Unfit as error:
            raise internal_error(str(error)) from error
        return None if obj == seen.admission.object else obj
