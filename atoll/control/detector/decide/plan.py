"""What to do about one template: claim it for its policy and write its binding, or release it.

Everything follows from what is there now. A lazy policy takes effect when the template changes
next: the binding says which content it was built from, and a template held back before it ever had
a binding says at which content. Released, a template keeps its binding and runs on where it runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from atoll.control.detector.decide.binding import BUILT_FROM, Interpreted, Wish, build
from atoll.control.detector.decide.choosing import Choice, choose
from atoll.dialects.karmada import names
from atoll.dialects.karmada.references import owner_of
from atoll.dialects.karmada.templates import is_template
from atoll.dialects.policy_source import HELD_AT, Claims, annotation, is_going
from atoll.model.action import NOTHING, Action, Create, Plan, Ref, Tell, Update
from atoll.model.policy import Policy
from atoll.scheduling.features import Features
from atoll.wire import Object

APPLIED, NOT_APPLIED = "ApplyPolicySucceed", "ApplyPolicyFailed"
PREEMPTED = "PreemptPolicySucceed"
RIVALS_TOLD = 3
AGAIN = 30.0
"""Seconds after which to look again for what no watch announces."""


@dataclass(frozen=True, slots=True)
class SeenTemplate:
    """What is there: the template, the policies that may select it, its binding.

    `owner`: the policy that carries the template, or that is itself what is decided; then nobody
    else has a say. `there`: what policies wait for, as far as it is there; `priorities`: the values
    of priority classes. `new_id` is for a binding without one.
    """

    template: Object
    claims: Claims
    policies: tuple[Policy, ...] = ()
    owner: Policy | None = None
    binding: Object | None = None
    interpreted: Interpreted = field(default_factory=Interpreted)
    there: frozenset[Ref] = frozenset()
    priorities: Mapping[str, int] = field(default_factory=dict)
    features: Features = field(default_factory=Features)
    new_id: str = ""


def plan(seen: SeenTemplate) -> Plan:
    """What to do so that the template belongs to its policy, and its binding says so."""
    template = seen.template
    if seen.owner is not None:
        return _owned(seen, seen.owner)
    if is_going(template) or not is_template(template):
        return NOTHING
    choice = choose(
        template,
        seen.policies,
        seen.claims.of(template),
        preemption=seen.features.PropagationPolicyPreemption,
        ready=lambda policy: not _missing(seen, policy),
    )
    if choice is None:
        return Plan(_releases(seen, template))
    missing = _missing(seen, choice.policy)
    if missing:
        stale = seen.claims.of(template) != choice.claim
        waits = Tell(template, NOT_APPLIED, f"{choice.claim} waits for {missing}", warning=True)
        return Plan((*(_releases(seen, template) if stale else ()), waits), again_in=AGAIN)
    if _is_held_back(seen, template, choice):
        return Plan((*_holding(seen, template, choice), *_preemption(template, choice)))
    claimed = _written(template, seen.claims.claimed(template, choice.claim))
    applied = _applied(seen, template, choice)
    return replace(applied, actions=(*claimed, *_preemption(template, choice), *applied.actions))


def _owned(seen: SeenTemplate, policy: Policy) -> Plan:
    """What to do about the binding of a policy that has one of its own."""
    if policy.claim is None or policy.meta.is_going:
        return NOTHING
    if missing := _missing(seen, policy):
        message = f"{policy.claim} waits for {missing}"
        return Plan((Tell(policy.wire, NOT_APPLIED, message, warning=True),), again_in=AGAIN)
    return _applied(seen, policy.wire, Choice(policy, policy.claim))


def _applied(seen: SeenTemplate, owner: Object, choice: Choice) -> Plan:
    """The binding as it is to be, or why it cannot be: told where people look."""
    obstacle = _obstacle(seen, owner, choice)
    if not obstacle:
        return Plan(_binding(seen, owner, choice))
    binding, message = seen.binding, f"{choice.claim} cannot be applied: {obstacle}"
    about = (owner,) if binding is None or _stranger(binding, owner) else (owner, binding)
    told = tuple(Tell(each, NOT_APPLIED, message, warning=True) for each in about)
    return Plan(told, again_in=AGAIN)


def _releases(seen: SeenTemplate, template: Object) -> tuple[Action, ...]:
    """Claims taken away, the binding's first: while the template has its own, we look again."""
    binding = seen.binding
    ours = binding is not None and not is_going(binding) and not _stranger(binding, template)
    freed = _written(binding, seen.claims.released(binding)) if binding and ours else ()
    return (*freed, *_written(template, seen.claims.released(template)))


def _written(old: Object, new: Object) -> tuple[Action, ...]:
    return () if new == old else (Update(new),)


def _preemption(template: Object, choice: Choice) -> tuple[Action, ...]:
    if choice.taken_from is None:
        return ()
    return (Tell(template, PREEMPTED, f"{choice.claim} took this from {choice.taken_from}"),)


def _binding(seen: SeenTemplate, owner: Object, choice: Choice) -> tuple[Action, ...]:
    binding = seen.binding
    if binding is not None and is_going(binding):
        return ()  # when it is gone, its successor is made
    wish = Wish(
        *(seen.template, owner, choice.policy, choice.claim, seen.claims),
        interpreted=seen.interpreted,
        priority=seen.priorities.get(choice.policy.priority_class),
        affinity=seen.features.WorkloadAffinity,
        new_id=seen.new_id,
    )
    wanted = build(wish, binding)
    if wanted == binding:
        return ()
    write = Create(wanted) if binding is None else Update(wanted)
    return write, Tell(owner, APPLIED, _success(choice))


def _success(choice: Choice) -> str:
    """Which policy it is; and, since their owners may wonder, which it is not."""
    others = ", ".join(str(each) for each in choice.rivals[:RIVALS_TOLD])
    if not others:
        return f"{choice.claim} is applied"
    return f"{choice.claim} is applied; not applied, though selecting this too: {others}"


def _missing(seen: SeenTemplate, policy: Policy) -> str:
    """What a policy waits for before it is applied, for people to read."""
    missing = [each for each in policy.awaits if each not in seen.there]
    if not missing:
        return ""
    named = ", ".join(each.name for each in missing)
    return f"{missing[0].kind} {named}, named in its {policy.awaits[missing[0]]}"


def _obstacle(seen: SeenTemplate, owner: Object, choice: Choice) -> str:
    """Why there cannot be a binding as wanted, in words that say what to do about it."""
    _, kind, namespace, name = Ref.of(seen.template)
    if choice.policy.problem is not None:
        return str(choice.policy.problem)
    if choice.policy.carries is not None and not is_template(seen.template):
        return f"{kind} {name} is nothing that may be propagated"
    if choice.policy.meta.namespace not in ("", namespace):
        return f"a policy of a namespace carries nothing outside of it, as in {namespace or 'none'}"
    too_long = names.too_long(kind, name, namespace)
    if too_long:
        return too_long
    stranger = seen.binding and _stranger(seen.binding, owner)
    if stranger:
        binding = names.binding_name(kind, name)
        return (
            f"the binding {binding} belongs to {stranger.get('kind')} {stranger.get('name')} "
            f"with uid {stranger.get('uid')}; it is made anew when that one is gone"
        )
    if seen.interpreted.problem:
        return seen.interpreted.problem
    wanted = choice.policy.priority_class if seen.features.PriorityBasedScheduling else ""
    if wanted and wanted not in seen.priorities:
        return f"there is no PriorityClass {wanted}, which it names; create it"
    return ""


def _stranger(binding: Object, owner: Object) -> Object | None:
    """The owner of a binding if it is not this one, such as an earlier one of its name."""
    found = owner_of(binding)
    same = found is None or found.get("uid") == owner["metadata"].get("uid")
    return None if same else found


def _is_held_back(seen: SeenTemplate, template: Object, choice: Choice) -> bool:
    """Whether a lazy policy waits for the template to change."""
    if not choice.policy.is_lazy:
        return False
    binding = None if seen.binding and _stranger(seen.binding, template) else seen.binding
    last = annotation(binding, BUILT_FROM) if binding else ""
    last = last or annotation(template, HELD_AT)
    if last:
        return last == seen.claims.digest(template)
    if binding and seen.claims.of(binding):
        return True  # built before we noted from what
    if seen.claims.of(template) == choice.claim:
        return False  # begun already: the claim is written first
    return not _is_newer(template, choice.policy)


def _is_newer(template: Object, policy: Policy) -> bool:
    """Whether a template changed after a policy: both are counted by the same store."""
    versions = template["metadata"].get("resourceVersion") or "", policy.meta.version
    if not all(each.isdecimal() for each in versions):
        return True
    return int(versions[0]) > int(versions[1])


def _holding(seen: SeenTemplate, template: Object, choice: Choice) -> tuple[Action, ...]:
    """Claims without effect, and the content that the next change is measured against."""
    now, claims = seen.claims.digest(template), seen.claims
    binding = None if seen.binding and _stranger(seen.binding, template) else seen.binding
    if binding and is_going(binding):
        return ()  # its successor is another matter
    if binding and (annotation(binding, BUILT_FROM) or claims.of(binding)):
        noted = claims.claimed(binding, choice.claim, {BUILT_FROM: now})
        claimed = _written(template, claims.claimed(template, choice.claim))
        return *claimed, *_written(binding, noted)
    return _written(template, claims.claimed(template, choice.claim, {HELD_AT: now}))
