"""The command lines of a cluster's servers, on loopback, for tests.

In: where a cluster keeps its files, and which ports are free. Out: a command for each server.
They are tuned to need little while nothing happens: several clusters share a machine, so there is
no election of leaders, no endpoint for metrics where nobody asks, and only what tests need runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from testenv.build import Binaries
from testenv.certificates import Certificates

Command = list[str | Path]

TOKEN = "testenv-administrator"
AUDIT = "audit.log"
# A node whose machine runs has this label: kwok plays only those.
MACHINE = "testenv/machine"
STAGES = Path(__file__).with_name("stages.yaml")
# Without these a cluster is not whole: namespaces end, owners take along what they own, accounts
# have tokens, those who ask for certificates get them, and volumes nobody uses can be deleted.
HOST_CONTROLLERS = (
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
    "clusterrole-aggregation-controller",
    "certificatesigningrequest-approving-controller",
    "certificatesigningrequest-signing-controller",
    "bootstrap-signer-controller",
    "token-cleaner-controller",
    "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller",
    "volumeattributesclass-protection-controller",
)
MEMBER_CONTROLLERS = (
    *HOST_CONTROLLERS,
    "deployment-controller",
    "replicaset-controller",
    "replicationcontroller-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
    "cronjob-controller",
    "ttl-after-finished-controller",
    "disruption-controller",
    "resourcequota-controller",
    "endpoints-controller",
    "endpointslice-controller",
    "node-lifecycle-controller",
    "taint-eviction-controller",
    "pod-garbage-collector-controller",
)
# Of several clusters on one machine: their servers are more than its cores, and there is memory for
# them to collect garbage rarely. Each goes on its own, on one core at a time.
SHARING = {"GOMAXPROCS": "1", "GOGC": "800", "GODEBUG": "adaptivestackstart=1"}
# The servers of a member, which stands for a machine of its own, weigh two thirds of those of the
# plane. The first half is for kernels that weigh sessions, of which each server has its own; the
# second for those that weigh processes.
_YIELD = '{ echo 2 >/proc/self/autogroup; } 2>/dev/null; exec nice -n 2 "$@"'
# They hold little, so that to collect garbage costs them less than to be given memory they never
# had, which on a virtual machine is dear; the host's API server holds much.
_SPARING = "GOGC=200"
NODE_LEASE_S = 16  # renewed every quarter of this
NODE_GRACE_S = 12


@dataclass(frozen=True, slots=True)
class Site:
    """Where the servers of one cluster keep their files and listen."""

    directory: Path
    certificates: Certificates
    kubeconfig: Path
    etcd_port: int
    etcd_peer_port: int
    port: int
    kubelet_port: int

    @property
    def servers_kubeconfig(self) -> Path:
        """Of the servers beside the API server. They show a token, which it looks up; certificates
        it would verify with every request, at a twelfth of all that it does for them.
        """
        return self.directory / "kubeconfig-servers"

    @property
    def etcd_url(self) -> str:
        return f"http://127.0.0.1:{self.etcd_port}"


def sharing(command: Command) -> Command:
    """The same, for one of many servers on a machine."""
    return ["/usr/bin/env", *(f"{name}={value}" for name, value in SHARING.items()), *command]


def yielding(command: Command) -> Command:
    """The same, for one of the servers of a member, which stands for another machine."""
    return ["/bin/sh", "-c", _YIELD, "yielding", "/usr/bin/env", _SPARING, *command]


def etcd(binaries: Binaries, site: Site) -> Command:
    peer_url = f"http://127.0.0.1:{site.etcd_peer_port}"
    return [
        binaries.etcd,
        f"--data-dir={site.directory / 'etcd'}",
        f"--listen-client-urls={site.etcd_url}",
        f"--advertise-client-urls={site.etcd_url}",
        f"--listen-peer-urls={peer_url}",
        f"--initial-advertise-peer-urls={peer_url}",
        f"--initial-cluster=default={peer_url}",
        "--unsafe-no-fsync",
        # What is durable is in the log beside; the tree is written by the second, not by the tenth.
        "--backend-batch-interval=1s",
        "--backend-batch-limit=100000",
    ]


def kube_apiserver(
    binaries: Binaries, site: Site, *, has_accounts: bool, is_audited: bool = False
) -> Command:
    """Without controllers there are no service accounts, which it would insist on."""
    certificates = site.certificates
    tokens = site.directory / "tokens.csv"
    tokens.write_text(f'{TOKEN},admin,admin,"system:masters"\n')
    return [
        binaries.kube_apiserver,
        f"--etcd-servers={site.etcd_url}",
        "--bind-address=127.0.0.1",
        f"--secure-port={site.port}",
        # Reserved for documentation: a loopback address is refused, and there may be no other.
        "--advertise-address=192.0.2.1",
        "--service-cluster-ip-range=10.0.0.0/24",
        f"--tls-cert-file={certificates.server.certificate}",
        f"--tls-private-key-file={certificates.server.key}",
        f"--client-ca-file={certificates.authority.certificate}",
        *_front_proxy_flags(certificates),
        f"--kubelet-client-certificate={certificates.administrator.certificate}",
        f"--kubelet-client-key={certificates.administrator.key}",
        "--kubelet-preferred-address-types=InternalIP",
        f"--token-auth-file={tokens}",
        "--authorization-mode=RBAC",
        "--enable-bootstrap-token-auth",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={certificates.service_account_key}",
        f"--service-account-signing-key-file={certificates.service_account_key}",
        *([] if has_accounts else ["--disable-admission-plugins=ServiceAccount"]),
        *(_audit_flags(site) if is_audited else []),
    ]


def _audit_flags(site: Site) -> list[str]:
    """Who asked for what, once it is answered: a line of JSON for each request."""
    policy = site.directory / "audit.yaml"
    policy.write_text(
        "apiVersion: audit.k8s.io/v1\n"
        "kind: Policy\n"
        "omitStages: [RequestReceived, ResponseStarted]\n"
        "rules: [{level: Metadata}]\n"
    )
    return [f"--audit-policy-file={policy}", f"--audit-log-path={site.directory / AUDIT}"]


def _front_proxy_flags(certificates: Certificates) -> list[str]:
    """Whom it believes that they ask for others, and as whom it asks servers behind it."""
    return [
        f"--requestheader-client-ca-file={certificates.front_authority.certificate}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-uid-headers=X-Remote-Uid",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={certificates.front_proxy.certificate}",
        f"--proxy-client-key-file={certificates.front_proxy.key}",
    ]


def kube_controller_manager(binaries: Binaries, site: Site, controllers: Sequence[str]) -> Command:
    authority = site.certificates.authority
    return [
        binaries.kube_controller_manager,
        f"--kubeconfig={site.servers_kubeconfig}",
        "--secure-port=0",
        "--leader-elect=false",
        f"--controllers={','.join(controllers)}",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        # What is left of what was deleted has time: others share the machine.
        "--concurrent-gc-syncs=1",
        f"--service-account-private-key-file={site.certificates.service_account_key}",
        f"--root-ca-file={authority.certificate}",
        f"--cluster-signing-cert-file={authority.certificate}",
        f"--cluster-signing-key-file={authority.key}",
        f"--node-monitor-grace-period={NODE_GRACE_S}s",
        "--node-monitor-period=2s",
    ]


def kube_scheduler(binaries: Binaries, site: Site) -> Command:
    return [
        binaries.kube_scheduler,
        f"--kubeconfig={site.servers_kubeconfig}",
        "--secure-port=0",
        "--leader-elect=false",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
    ]


def kwok(binaries: Binaries, site: Site) -> Command:
    """Plays the machines, and answers for them when somebody wants a pod's log."""
    server = site.certificates.server
    return [
        binaries.directory / "kwok",
        f"--kubeconfig={site.servers_kubeconfig}",
        f"--config={_kwok_config(site)}",
        "--manage-all-nodes=false",
        f"--manage-nodes-with-label-selector={MACHINE}=on",
        f"--node-lease-duration-seconds={NODE_LEASE_S}",
        "--node-ip=127.0.0.1",
        f"--node-port={site.kubelet_port}",
        f"--server-address=127.0.0.1:{site.kubelet_port}",
        f"--tls-cert-file={server.certificate}",
        f"--tls-private-key-file={server.key}",
        "--v=WARN",
    ]


def _kwok_config(site: Site) -> Path:
    """What machines do with pods, and one log for all containers."""
    log = site.directory / "containers.log"
    log.write_text("2026-01-01T00:00:00.000000000Z stdout F a line of a container's log\n")
    config = site.directory / "kwok.yaml"
    config.write_text(
        f"{STAGES.read_text()}---\n"
        "apiVersion: kwok.x-k8s.io/v1alpha1\n"
        "kind: ClusterLogs\n"
        "metadata: {name: containers}\n"
        f"spec: {{logs: [{{logsFile: {log}}}]}}\n"
    )
    return config
