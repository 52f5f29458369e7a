"""Studies by SSH over the loopback interface, and by a Slurm of this machine. Skipped where the servers are not installed
(Debian: `apt-get install openssh-server slurm-wlm munge`); `make test-slurm` runs them."""

import base64
import getpass
import inspect
import os
import secrets
import shutil
import socket
import subprocess
import sys
import threading
import time
import tomllib
import types

import pytest
import stripewise
from test_study import BATCH, RUNS, TEXT

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
from stripewise import cluster, pods  # noqa: E402

SBIN = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


def program(name):
    found = shutil.which(name, path=SBIN)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(condition, seconds, what):
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, what()
        time.sleep(0.1)


@pytest.fixture
def expected(tmp_path):
    path = tmp_path / "expected.toml"
    path.write_text(TEXT)
    study = stripewise.study(path)
    study.run(progress=False)
    return study.digests()


@pytest.fixture
def sshd(tmp_path):
    """A server on the loopback interface, with keys of its own: its port and the client's key."""
    server, keygen = program("sshd"), program("ssh-keygen")
    pytest.importorskip("asyncssh")
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)
    for name in ("host", "client"):
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    shutil.copy(tmp_path / "client.pub", tmp_path / "authorized")
    port = free_port()
    (tmp_path / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/authorized\n"
        f"StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nPidFile {tmp_path}/sshd.pid\n"
    )
    with open(tmp_path / "sshd.log", "w") as log:
        process = subprocess.Popen([server, "-D", "-e", "-f", tmp_path / "sshd_config"], stdout=log, stderr=log)

    def answers():
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        until(answers, 20, lambda: (tmp_path / "sshd.log").read_text())
        yield port, tmp_path / "client"
    finally:
        process.terminate()
        process.wait()


def test_ssh_gives_the_same_results(tmp_path, sshd, expected):
    port, key = sshd
    path = tmp_path / "study.toml"
    path.write_text(
        TEXT + f'[on.ssh]\nhosts = ["127.0.0.1"]\nport = {port}\nkeys = ["{key}"]\nknown_hosts = false\n'
        f'workers_per_host = 2\npython = "{sys.executable}"\n'
    )
    assert cluster.main(["run", str(path), "--on", "ssh", "--quiet", "--batch-seconds", str(BATCH)]) == 0
    assert stripewise.study(path).digests() == expected


KUBERNETES = """[on.kubernetes]
image = "registry/stripewise:1"
workers = 2
namespace = "lab"
resources = { limits = { cpu = "1", memory = "2Gi" } }
"""


def make_cluster_spec(name, image, n_workers, resources, env):
    """As much of the operator's function as the test below it compares with the real one."""
    pairs = [{"name": key, "value": value} for key, value in env.items()]

    def part(container):
        return {"spec": {"containers": [{"name": container, "image": image, "env": pairs, "resources": resources}]}}

    worker = {"replicas": n_workers, **part("worker")}
    return {"metadata": {"name": name}, "spec": {"worker": worker, "scheduler": part("scheduler")}}


@pytest.fixture
def kubernetes(tmp_path, monkeypatch):
    """A stand-in for the operator and the API of Kubernetes, since no cluster is here: it keeps secrets, and a cluster has
    workers of this machine, whose keys are those of the secret that its pods mount."""
    from distributed.core import rpc

    kept, asked = {}, []

    class Secret:
        def __init__(self, resource, namespace=None):
            self.resource, self.namespace = resource, namespace

        def create(self):
            kept[self.resource["metadata"]["name"]] = self

        def delete(self):
            del kept[self.resource["metadata"]["name"]]

    class KubeCluster(distributed.LocalCluster):
        def __init__(self, custom_cluster_spec, namespace, create_mode):
            asked.append((custom_cluster_spec, namespace, create_mode))
            (volume,) = custom_cluster_spec["spec"]["worker"]["spec"]["volumes"]
            secret = kept[volume["secret"]["secretName"]]
            assert secret.namespace == namespace
            for name, value in secret.resource["data"].items():
                (tmp_path / name).write_bytes(base64.b64decode(value))
            (container,) = custom_cluster_spec["spec"]["worker"]["spec"]["containers"]
            told = {pair["name"]: pair["value"].replace(pods.FOLDER, str(tmp_path)) for pair in container["env"]}
            with dask.config.set(dask.config.merge(dask.config.config, dask.config.collect_env(told))):
                # As the pods: from files, without what this process knows. The cluster itself is a client here.
                own = {f"tls_client_{part}": str(tmp_path / f"worker.{part}") for part in ("cert", "key")}
                super().__init__(n_workers=custom_cluster_spec["spec"]["worker"]["replicas"], threads_per_worker=1,
                                 security=distributed.Security(**own), memory_limit=0, dashboard_address="127.0.0.1:0")

    modules = {
        "dask_kubernetes": {},
        "dask_kubernetes.operator": {},
        "dask_kubernetes.operator.kubecluster": {},
        "dask_kubernetes.operator.kubecluster.kubecluster": {
            "KubeCluster": KubeCluster, "make_cluster_spec": make_cluster_spec, "rpc": rpc,
            "CreateMode": types.SimpleNamespace(CREATE_ONLY="only new ones"),
        },
        "dask_kubernetes.operator.networking": {"rpc": rpc},
        "kr8s": {},
        "kr8s.objects": {"Secret": Secret},
    }
    for name, members in modules.items():
        module = types.ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    return kept, asked


def test_kubernetes_is_asked_for_the_cluster_of_the_file_and_runs_on_its_workers(tmp_path, expected, kubernetes):
    kept, asked = kubernetes
    path = tmp_path / "study.toml"
    path.write_text(TEXT + KUBERNETES)
    assert cluster.main(["run", str(path), "--on", "kubernetes", "--quiet", "--batch-seconds", str(BATCH)]) == 0
    assert stripewise.study(path).digests() == expected
    ((spec, namespace, mode),) = asked
    assert spec["metadata"]["name"].startswith("stripewise-") and namespace == "lab" and mode == "only new ones"
    (container,) = spec["spec"]["worker"]["spec"]["containers"]
    assert container["image"] == "registry/stripewise:1" and spec["spec"]["worker"]["replicas"] == 2
    assert container["resources"] == {"limits": {"cpu": "1", "memory": "2Gi"}}
    assert kept == {}, "the keys end with the cluster"


def test_dask_kubernetes_makes_pods_of_one_run_each_of_the_configuration_with_the_keys():
    operator = pytest.importorskip("dask_kubernetes.operator.kubecluster.kubecluster")
    table = tomllib.loads(KUBERNETES)["on"]["kubernetes"]
    spec = pods.spec("stripewise-1", table["image"], table["workers"], table["resources"])
    inspect.signature(operator.KubeCluster).bind(custom_cluster_spec=spec, namespace="lab", create_mode=None)
    worker, scheduler = spec["spec"]["worker"], spec["spec"]["scheduler"]
    (container,) = worker["spec"]["containers"]
    assert worker["replicas"] == 2 and container["image"] == "registry/stripewise:1"
    assert container["args"][:2] == ["dask-worker", "tls://stripewise-1-scheduler:8786"]
    assert container["resources"] == {"limits": {"cpu": "1", "memory": "2Gi"}}
    for part in (worker, scheduler):
        (container,) = part["spec"]["containers"]
        told = {pair["name"]: pair["value"] for pair in container["env"]}
        assert told["DASK_DISTRIBUTED__COMM__TLS__CA_FILE"] == f"{pods.FOLDER}/ca-file"
        assert told["DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION"] == "True"
        assert "tls" in container["args"] and "--no-dashboard" in container["args"]
        assert container["volumeMounts"][0]["mountPath"] == pods.FOLDER
        assert part["spec"]["volumes"] == [{"name": "keys", "secret": {"secretName": "stripewise-1"}}]


def test_a_place_in_kubernetes_names_its_image(tmp_path, capsys):
    path = tmp_path / "study.toml"
    path.write_text(TEXT + "[on.kubernetes]\nworkers = 2\n")
    assert cluster.main(["run", str(path), "--on", "kubernetes", "--quiet"]) != 0
    assert "image is missing" in capsys.readouterr().err


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """munged, slurmctld and slurmd with folders and ports of their own."""
    munged, controller, node = program("munged"), program("slurmctld"), program("slurmd")
    program("sbatch")
    root = tmp_path / "slurm"
    for folder in (root, root / "state", root / "spool"):
        folder.mkdir()
    key, plug = root / "munge.key", root / "munge.socket"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    host, user = socket.gethostname().split(".")[0], getpass.getuser()
    conf = root / "slurm.conf"
    conf.write_text(
        f"ClusterName=here\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser={user}\nSlurmdUser={user}\n"
        f"SlurmctldPort={free_port()}\nSlurmdPort={free_port()}\nAuthType=auth/munge\nAuthInfo=socket={plug}\n"
        f"StateSaveLocation={root}/state\nSlurmdSpoolDir={root}/spool\n"
        f"SlurmctldPidFile={root}/slurmctld.pid\nSlurmdPidFile={root}/slurmd.pid\n"
        f"SlurmctldLogFile={root}/slurmctld.log\nSlurmdLogFile={root}/slurmd.log\n"
        "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n"
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nReturnToService=2\nMinJobAge=30\n"
        "SchedulerParameters=sched_interval=1\nMpiDefault=none\n"
        f"NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} RealMemory=2000 State=UNKNOWN\n"
        "PartitionName=here Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
    )
    monkeypatch.setenv("SLURM_CONF", str(conf))
    monkeypatch.setenv("PATH", SBIN)
    processes = []

    def start(name, *line):
        with open(root / f"{name}.out", "w") as out:
            processes.append(subprocess.Popen([str(part) for part in line], stdout=out, stderr=out))

    def logs():
        return "\n".join(path.read_text()[-2000:] for path in sorted(root.glob("*.[lo][ou][gt]")))

    def is_idle():
        told = subprocess.run(["sinfo", "--noheader", "--format=%T"], capture_output=True, text=True)
        return "idle" in told.stdout

    files = [f"--{name}-file={root}/munged.{name}" for name in ("pid", "log", "seed")]
    try:
        start("munged", munged, "--foreground", "--force", f"--key-file={key}", f"--socket={plug}", *files)
        until(plug.exists, 20, logs)
        start("slurmctld", controller, "-D", "-f", conf)
        start("slurmd", node, "-D", "-f", conf, "-N", host)
        until(is_idle, 60, logs)
        yield root
    finally:
        subprocess.run(["scancel", "--user", user], capture_output=True)
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait()


def jobs():
    told = subprocess.run(["squeue", "--noheader", "--format=%A", "--states=RUNNING"], capture_output=True, text=True)
    return told.stdout.split()


def test_slurm_gives_the_same_results_although_a_job_is_killed(tmp_path, slurm, expected, monkeypatch):
    monkeypatch.setattr(cluster, "SCALE_SECONDS", 2.0)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "study.toml"
    path.write_text(
        TEXT.replace("seeds = 8", "seeds = 40")
        + f'[on.slurm]\nqueue = "here"\njobs = 2\ncores = 1\nmemory = "500MB"\nwalltime = "0:20:00"\ninterface = "lo"\n'
        f'python = "{sys.executable}"\n'
    )
    killed, submitted = [], set()

    def kill():
        while not killed:
            running = jobs()
            if len(running) == 2 and len(stripewise.study(path).digests()) > 20:
                subprocess.run(["scancel", "--signal=KILL", "--full", running[0]], check=True)
                killed.append(running[0])
            time.sleep(0.2)
        while killed[-1] is not None:
            submitted.update(jobs())
            time.sleep(0.2)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        code = cluster.main(["run", str(path), "--on", "slurm", "--quiet", "--batch-seconds", "0.2"])
    finally:
        killed.append(None)
        killer.join()
    assert code == 0 and killed[0] is not None, "a job was killed"
    study = stripewise.study(path)
    made = study.digests()
    assert len(made) == 5 * RUNS and expected.items() <= made.items() and study.errors() == []
