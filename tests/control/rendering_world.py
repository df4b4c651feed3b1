"""A template with its binding, policies and clusters, in the short notation of these tests.

Works stand in the small world of plans; `deliver` plays the members, which apply what they are sent
and tell how it is.
"""

import yaml
from small_world import World

from atoll.control.works.decide.overriding.fields import Texts
from atoll.control.works.decide.plan import SeenBinding, plan
from atoll.control.works.decide.rendering import Means, SeenRendering
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects import policies as policy_dialect
from atoll.dialects.karmada.objects import resource_bindings, works
from atoll.errors import Invalid
from atoll.interpreting.builtin import BUILT_IN
from atoll.interpreting.pruning import prune
from atoll.model.action import Plan, Ref
from atoll.model.cluster import Cluster

MADE = "2026-01-01T00:00:00Z"
MADE_S = 1767225600.0
CLUSTERS = {
    name: Cluster(name=name, labels={"site": site}, provider=provider)
    for name, site, provider in [
        ("a", "east", "aws"),
        ("b", "west", "gcp"),
        ("c", "west", ""),
        ("d", "", ""),
    ]
}


def read_yaml(written):
    try:
        return yaml.safe_load(written)
    except yaml.YAMLError as error:
        raise Invalid("", written, str(error).splitlines()[0]) from None


TEXTS = Texts(read_yaml, yaml.safe_dump)
MEANS = Means(BUILT_IN.revise, prune, TEXTS)


def make_template(kind="Deployment", *, spec=None, api="apps/v1", **metadata):
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": "template-uid",
            "generation": 3,
            "resourceVersion": "77",
            **metadata,
        },
        "spec": {"replicas": 9} if spec is None else spec,
        "status": {"replicas": 9},
    }


def make_binding(template=None, *, finalizers=(names.BINDING_FINALIZER,), on=(), **spec):
    of = template or make_template()
    ref = Ref.of(of)
    return {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {
            "name": names.binding_name(ref.kind, ref.name),
            "namespace": ref.namespace,
            "labels": {names.BINDING_ID: "binding-id"},
            "finalizers": list(finalizers),
        },
        "spec": {
            "resource": {"apiVersion": ref.api_version, "kind": ref.kind, "name": ref.name},
            "replicas": 9,
            "clusters": targets(on),
            **spec,
        },
    }


def targets(on):
    counts = on if isinstance(on, dict) else dict.fromkeys(on, 1)
    return [{"name": name, "replicas": count} for name, count in counts.items()]


def make_policy(name, *rules, selectors=None, namespace="shop", **spec):
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    kind = "OverridePolicy" if namespace else "ClusterOverridePolicy"
    if selectors is not None:
        spec["resourceSelectors"] = list(selectors)
    if rules:
        spec["overrideRules"] = list(rules)
    return {"kind": kind, "metadata": metadata, "spec": spec}


def sets(path, value, **target):
    """A rule that sets one place, in the clusters of the target."""
    overriders = {"plaintext": [{"path": path, "operator": "add", "value": value}]}
    rule = {"overriders": overriders}
    return {**rule, "targetCluster": target} if target else rule


def seen_rendering(template, binding, *policies, **more):
    bound = resource_bindings.decode(binding)
    return SeenRendering(bound, template, CLUSTERS, MEANS, known(policies), **more)


def known(policies):
    """All of these policies, whatever object they are asked for."""
    decoded = [policy_dialect.decode_override(each) for each in policies]
    return lambda _: decoded


class Plane:
    """A world with one binding, and what plans would do about its Works."""

    def __init__(self, template, binding, *policies, **more):
        self.world = World()
        self.template = template
        self.policies = policies
        self.more = more
        self.now = MADE_S
        self.fleet = CLUSTERS
        self.ref = Ref.of(binding)
        self.world.put(binding)

    @property
    def binding(self):
        return self.world.get(self.ref)

    def seen(self) -> SeenBinding:
        return SeenBinding(
            resource_bindings.decode(self.binding),
            self.template,
            self.fleet,
            MEANS,
            tuple(map(works.decode, self.world.all("Work"))),
            known(self.policies),
            new_id="new-id",
            **self.more,
        )

    def plan(self) -> Plan:
        return Plan() if self.binding is None else plan(self.seen(), self.now)

    def perform(self, stop=None) -> Plan:
        wanted = self.plan()
        for action in wanted.actions[:stop]:
            self.world.perform(action)
        return wanted

    def respec(self, **spec):
        self.world.put({**self.binding, "spec": {**self.binding["spec"], **spec}})

    def work(self, cluster):
        return next((each for each in self.world.all("Work") if cluster_in(each) == cluster), None)

    def clusters(self):
        """Where there are Works that are to stay."""
        works = self.world.all("Work")
        return {cluster_in(each) for each in works if "deletionTimestamp" not in each["metadata"]}

    def deliver(self, *clusters, health="Healthy"):
        """The members apply what they have been sent, and let go of what was withdrawn."""
        for work in self.world.all("Work"):
            if clusters and cluster_in(work) not in clusters:
                continue
            metadata = {"creationTimestamp": MADE, **work["metadata"]}
            if "deletionTimestamp" in metadata:
                self.world.put({**work, "metadata": {**metadata, "finalizers": []}})
                self.world.remove(Ref.of(work))
                continue
            status = {
                "conditions": [{"type": "Applied", "status": "True"}],
                "manifestStatuses": [{"health": health}] if health else [],
            }
            self.world.put({**work, "metadata": metadata, "status": status})

    def settle(self):
        """Plan, perform and deliver until there is nothing to do."""
        for _ in range(12):
            actions = self.perform().actions
            self.deliver()
            if not actions:
                return
        raise AssertionError(f"no end; next would be {actions}")


def cluster_in(work):
    return names.cluster_of(work["metadata"]["namespace"])
