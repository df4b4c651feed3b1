"""What to do about one template: claim it for its policy and write its binding, or release it.

Everything follows from what is there now. A lazy policy takes effect when the template changes
next: the binding says which content it was built from, and a template held back before it ever had
a binding says at which content. Released, a template keeps its binding and runs on where it runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from atoll.control.detector.decide.binding import BUILT_FROM, Interpreted, Wish, build
from atoll.control.detector.decide.choosing import Choice, choose
from atoll.dialects.karmada import names
from atoll.dialects.karmada.claims import (
    HELD_AT,
    annotation,
    claim_of,
    claimed,
    digest,
    is_going,
    released,
)
from atoll.dialects.karmada.references import owner_of
from atoll.dialects.karmada.templates import POLICY, Rules, is_template
from atoll.model.action import NOTHING, Action, Create, Object, Plan, Tell, Update

APPLIED, NOT_APPLIED = "ApplyPolicySucceed", "ApplyPolicyFailed"
PREEMPTED = "PreemptPolicySucceed"
RIVALS_TOLD = 3
AGAIN = 30.0
"""Seconds after which to look again for what no watch announces."""


@dataclass(frozen=True, slots=True)
class SeenTemplate:
    """What is there: the template, the policies of its namespace and of the plane, its binding.

    `overrides` are the names of the OverridePolicies of its namespace, `cluster_overrides` those of
    the plane; `priorities` the values of priority classes. `new_id` is for a binding without one.
    """

    template: Object | None
    policies: tuple[Object, ...] = ()
    binding: Object | None = None
    interpreted: Interpreted = field(default_factory=Interpreted)
    overrides: frozenset[str] = frozenset()
    cluster_overrides: frozenset[str] = frozenset()
    priorities: Mapping[str, int] = field(default_factory=dict)
    rules: Rules = field(default_factory=Rules)
    new_id: str = ""


def plan(seen: SeenTemplate) -> Plan:
    """What to do so that the template belongs to its policy, and its binding says so."""
    template = seen.template
    if template is None or is_going(template) or not is_template(template, seen.rules):
        return NOTHING
    choice = choose(
        template,
        seen.policies,
        preemption=seen.rules.preemption,
        ready=lambda policy: not _missing_overrides(seen, policy),
    )
    if choice is None:
        return Plan(_releases(seen, template))
    missing = _missing_overrides(seen, choice.policy)
    if missing:
        stale = claim_of(template) != choice.claim
        waits = Tell(template, NOT_APPLIED, f"{choice.claim} waits for {missing}", warning=True)
        return Plan((*(_releases(seen, template) if stale else ()), waits), again_in=AGAIN)
    if _is_held_back(seen, template, choice):
        return Plan((*_holding(seen, template, choice), *_preemption(template, choice)))
    actions = (*_written(template, claimed(template, choice.claim)), *_preemption(template, choice))
    obstacle = _obstacle(seen, template, choice)
    if obstacle:
        message = f"{choice.claim} cannot be applied: {obstacle}"
        told = [Tell(each, NOT_APPLIED, message, warning=True) for each in _told_of(seen, template)]
        return Plan((*actions, *told), again_in=AGAIN)
    return Plan((*actions, *_binding(seen, template, choice)))


def _told_of(seen: SeenTemplate, template: Object) -> tuple[Object, ...]:
    """Where people look: the template, and its binding if it has one."""
    binding = seen.binding
    return (template,) if binding is None or _stranger(binding, template) else (template, binding)


def _releases(seen: SeenTemplate, template: Object) -> tuple[Action, ...]:
    """Claims taken away, the binding's first: while the template has its own, we look again."""
    binding = seen.binding
    ours = binding is not None and not is_going(binding) and not _stranger(binding, template)
    freed = _written(binding, released(binding)) if binding and ours else ()
    return (*freed, *_written(template, released(template)))


def _written(old: Object, new: Object) -> tuple[Action, ...]:
    return () if new == old else (Update(new),)


def _preemption(template: Object, choice: Choice) -> tuple[Action, ...]:
    if choice.taken_from is None:
        return ()
    return (Tell(template, PREEMPTED, f"{choice.claim} took this from {choice.taken_from}"),)


def _binding(seen: SeenTemplate, template: Object, choice: Choice) -> tuple[Action, ...]:
    binding = seen.binding
    if binding is not None and is_going(binding):
        return ()  # when it is gone, its successor is made
    wish = Wish(
        template,
        choice.policy,
        choice.claim,
        interpreted=seen.interpreted,
        priority=seen.priorities.get(_priority_class(seen, choice.policy)),
        affinity=seen.rules.affinity,
        new_id=seen.new_id,
    )
    wanted = build(wish, binding)
    if wanted == binding:
        return ()
    write = Create(wanted) if binding is None else Update(wanted)
    return write, Tell(template, APPLIED, _applied(choice))


def _applied(choice: Choice) -> str:
    """Which policy it is; and, since their owners may wonder, which it is not."""
    others = ", ".join(str(each) for each in choice.rivals[:RIVALS_TOLD])
    if not others:
        return f"{choice.claim} is applied"
    return f"{choice.claim} is applied; not applied, though selecting this too: {others}"


def _missing_overrides(seen: SeenTemplate, policy: Object) -> str:
    """The override policies without which a policy is not to be applied, for people to read."""
    namespaced = policy.get("kind") == POLICY
    present = seen.overrides if namespaced else seen.cluster_overrides
    named = (policy.get("spec") or {}).get("dependentOverrides") or ()
    missing = [each for each in named if each not in present]
    kind = "OverridePolicy" if namespaced else "ClusterOverridePolicy"
    return f"{kind} {', '.join(missing)}, named in its dependentOverrides" if missing else ""


def _priority_class(seen: SeenTemplate, policy: Object) -> str:
    asked = (policy.get("spec") or {}).get("schedulePriority") or {}
    return (asked.get("priorityClassName") or "") if seen.rules.priority else ""


def _obstacle(seen: SeenTemplate, template: Object, choice: Choice) -> str:
    """Why there cannot be a binding as wanted, in words that say what to do about it."""
    kind, name = template["kind"], template["metadata"]["name"]
    namespace = template["metadata"].get("namespace") or ""
    too_long = names.too_long(kind, name, namespace)
    if too_long:
        return too_long
    stranger = seen.binding and _stranger(seen.binding, template)
    if stranger:
        binding = names.binding_name(kind, name)
        return (
            f"the binding {binding} belongs to {stranger.get('kind')} {stranger.get('name')} "
            f"with uid {stranger.get('uid')}; it is made anew when that one is gone"
        )
    if seen.interpreted.problem:
        return seen.interpreted.problem
    wanted = _priority_class(seen, choice.policy)
    if wanted and wanted not in seen.priorities:
        return f"there is no PriorityClass {wanted}, named in its schedulePriority; create it"
    return ""


def _stranger(binding: Object, template: Object) -> Object | None:
    """The owner of a binding if it is not this template, such as an earlier one of its name."""
    owner = owner_of(binding)
    same = owner is None or owner.get("uid") == template["metadata"].get("uid")
    return None if same else owner


def _is_held_back(seen: SeenTemplate, template: Object, choice: Choice) -> bool:
    """Whether a lazy policy waits for the template to change."""
    if (choice.policy.get("spec") or {}).get("activationPreference") != "Lazy":
        return False
    binding = None if seen.binding and _stranger(seen.binding, template) else seen.binding
    last = annotation(binding, BUILT_FROM) if binding else ""
    last = last or annotation(template, HELD_AT)
    if last:
        return last == digest(template)
    if binding and claim_of(binding):
        return True  # built before we noted from what
    if claim_of(template) == choice.claim:
        return False  # begun already: the claim is written first
    return not _is_newer(template, choice.policy)


def _is_newer(template: Object, policy: Object) -> bool:
    """Whether a template changed after a policy: both are counted by the same store."""
    versions = [each["metadata"].get("resourceVersion") or "" for each in (template, policy)]
    if not all(each.isdecimal() for each in versions):
        return True
    return int(versions[0]) > int(versions[1])


def _holding(seen: SeenTemplate, template: Object, choice: Choice) -> tuple[Action, ...]:
    """Claims without effect, and the content that the next change is measured against."""
    now = digest(template)
    binding = None if seen.binding and _stranger(seen.binding, template) else seen.binding
    if binding and is_going(binding):
        return ()  # its successor is another matter
    if binding and (annotation(binding, BUILT_FROM) or claim_of(binding)):
        noted = claimed(binding, choice.claim, {BUILT_FROM: now})
        return *_written(template, claimed(template, choice.claim)), *_written(binding, noted)
    return _written(template, claimed(template, choice.claim, {HELD_AT: now}))
