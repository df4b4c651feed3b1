"""POST to the eviction of a pod: it is deleted, if that leaves enough others of its kind.

How many may be missing is what a PodDisruptionBudget tells in its status; whoever evicts takes one
off that, so that the next one knows. Who has ended or has not begun may always go.
"""

from dataclasses import replace

import orjson

from atoll.apiserver.authentication import ITSELF
from atoll.apiserver.kinds.labels import selector_of
from atoll.apiserver.kinds.reading import number, part, text
from atoll.apiserver.objects.conditions import condition, is_true, with_condition
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.options import DeleteOptions, WriteOptions, delete_options, write_options
from atoll.apiserver.status import ApiError, bad_request, done, forbidden, not_found, plain_500
from atoll.apiserver.verbs.binding import PODS, admitted, served
from atoll.apiserver.verbs.call import Api, Call, object_key
from atoll.apiserver.verbs.deleting import delete_object
from atoll.apiserver.verbs.forming import Form, formed_update
from atoll.apiserver.verbs.intake import never_stored, read_object
from atoll.apiserver.verbs.writing import Verdict, write_admitted
from atoll.wire import Wire

BUDGETS = ("policy", "v1", "poddisruptionbudgets")
_MANAGER = "kube-apiserver"
_DISRUPTED_MAX = 2000
_ENDED_OR_PENDING = ("Succeeded", "Failed", "Pending")
_TARGET = condition(
    "DisruptionTarget", "EvictionByEvictionAPI", "Eviction API: evicting", holds=True
)


async def evict(api: Api, call: Call) -> Wire:
    """Delete the pod that is called upon; ApiError 429 if its budget does not allow that now."""
    given = write_options(call.query, "CreateOptions")
    evictions = never_stored("policy", "v1", "Eviction")
    eviction = read_object(replace(call, resource=evictions), given.field_validation)
    if text(eviction, "metadata", "name") != call.name:
        raise bad_request("name in URL does not match name in Eviction object")
    options = delete_options(part(eviction, "deleteOptions"), {})
    options = replace(options, dry_run=options.dry_run or given.dry_run)
    settle = await admitted(api, call, call.name, eviction, dry_run=options.dry_run)
    if settle is not None:
        settle()
    pod = _pod(api, call)
    if not _may_always_go(pod):
        await _spend(api, call, pod, options)
    if not options.dry_run:
        await _mark(api, call, options)
    await delete_object(api, replace(call, subresource=""), options)
    return done(201)


def _pod(api: Api, call: Call) -> Wire:
    record = api.store.latest(call.resource.collection, call.key())
    if record is None:
        raise not_found(call.resource.plural, call.resource.group, call.name)
    found: Wire = orjson.loads(record.value)
    return found


def _may_always_go(pod: Wire) -> bool:
    phase = text(pod, "status", "phase")
    return phase in _ENDED_OR_PENDING or bool(metadata(pod).get("deletionTimestamp"))


async def _spend(api: Api, call: Call, pod: Wire, options: DeleteOptions) -> None:
    """Take this pod off what its budget allows; ApiError if it allows nothing."""
    budgets = served(api, *BUDGETS)
    records = api.store.page(budgets.collection, f"{call.namespace}/").records
    found = [one for record in records if _is_of(one := orjson.loads(record.value), pod)]
    if len(found) > 1:
        why = (
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does"
            " not support."
        )
        raise plain_500(why)
    if not found or (not is_true(pod, "Ready") and _is_unimportant(found[0])):
        return
    name = metadata(found[0])["name"]
    one = Call(call.request, budgets, ITSELF, namespace=call.namespace, name=name)
    form = Form(api, one.on("status"), WriteOptions(field_manager=_MANAGER))

    async def decide(old: Wire | None) -> Verdict:
        if old is None:
            raise not_found(budgets.plural, budgets.group, name)
        fresh = spent(old, call.name, api.timestamp())
        return await formed_update(form, fresh, old)

    key = object_key(budgets, call.namespace, name)
    await write_admitted(api, budgets, key, decide, dry_run=options.dry_run)


def _is_of(budget: Wire, pod: Wire) -> bool:
    written = part(budget, "spec").get("selector")
    labels = metadata(pod).get("labels") or {}
    return written is not None and selector_of(written).matches(labels)


def _is_unimportant(budget: Wire) -> bool:
    """Whether a pod that is not ready may go although its budget counts it."""
    if text(budget, "spec", "unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    wanted = number(budget, "status", "desiredHealthy")
    return wanted > 0 and number(budget, "status", "currentHealthy") >= wanted


def spent(budget: Wire, pod: str, now: str) -> Wire:
    """The budget after this pod; ApiError if it allows no more."""
    name, status = metadata(budget)["name"], part(budget, "status")
    allowed, disrupted = number(status, "disruptionsAllowed"), part(status, "disruptedPods")
    if number(status, "observedGeneration") < metadata(budget).get("generation", 0):
        told = f"The disruption budget {name} is still being processed by the server."
        raise _too_many(told, retry_after_s=10)
    if allowed < 0:
        why = "pdb disruptions allowed is negative"
        raise forbidden("poddisruptionbudget", "policy", name, why)
    if len(disrupted) > _DISRUPTED_MAX:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise forbidden("poddisruptionbudget", "policy", name, why)
    if allowed == 0:
        raise _too_many(_why_none(name, status))
    fresh = {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": {**disrupted, pod: now}}
    if allowed == 1:
        none = condition("DisruptionAllowed", "InsufficientPods", "", holds=False)
        none["observedGeneration"] = number(status, "observedGeneration")
        fresh = with_condition(fresh, none, now)
    return {**budget, "status": fresh}


def _why_none(name: str, status: Wire) -> str:
    known = status.get("conditions") or []
    kept = [one for one in known if one.get("type") == "DisruptionAllowed" and one.get("message")]
    said: Wire = next((one for one in kept if one.get("status") == "False"), {})
    none = f"The disruption budget {name} does not allow evicting pods currently"
    if said.get("reason") == "SyncFailed":
        return f"{none} because it failed sync: {said['message']}"
    healthy, wanted = number(status, "currentHealthy"), number(status, "desiredHealthy")
    if healthy <= wanted:
        return (
            f"The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently"
        )
    return f"{none} ({said.get('reason', '')}): {said['message']}" if said else none


def _too_many(cause: str, retry_after_s: int = 0) -> ApiError:
    details: Wire = {"causes": [{"reason": "DisruptionBudget", "message": cause}]}
    if retry_after_s:
        details["retryAfterSeconds"] = retry_after_s
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    headers = {"Retry-After": str(retry_after_s)} if retry_after_s else {}
    return ApiError(429, "TooManyRequests", message, details=details, headers=headers)


async def _mark(api: Api, call: Call, options: DeleteOptions) -> None:
    """Say in the pod's status that it goes because somebody wants it to."""
    pods = served(api, *PODS)
    form = Form(api, call.on("status"), WriteOptions(field_manager=_MANAGER))

    async def decide(old: Wire | None) -> Verdict:
        if old is None:
            raise not_found(pods.plural, pods.group, call.name)
        status = with_condition(part(old, "status"), _TARGET, api.timestamp())
        return await formed_update(form, {**old, "status": status}, old)

    if options.precondition_uid or options.precondition_revision:
        return  # those who name a version would not find it any more
    await write_admitted(api, pods, call.key(), decide)
