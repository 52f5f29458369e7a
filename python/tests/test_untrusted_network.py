"""A place of a study refuses connections without its key, and shows its pages to this machine only."""

import asyncio
import importlib.util
import os
import stat
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import pytest

distributed = pytest.importorskip("distributed")
if importlib.util.find_spec("dask_jobqueue") is None:
    pytest.skip("dask_jobqueue is not installed", allow_module_level=True)
asyncssh = pytest.importorskip("asyncssh")
from stripewise import SettingError, cluster  # noqa: E402
from test_places import kubernetes  # noqa: E402, F401


def refuses_strangers(place, tmp_path):
    """Clients without the key, and with one of their own, run nothing on a place whose own client runs something."""
    address = place.client.scheduler_info()["address"]
    assert address.startswith("tls://"), address
    own = tmp_path / "own"
    place.client.submit(own.write_text, "ran", pure=False).result(timeout=60)
    assert own.read_text() == "ran"
    workers = list(place.client.scheduler_info()["workers"])
    nannies = [worker["nanny"] for worker in place.client.scheduler_info()["workers"].values() if worker["nanny"]]
    for at in [address, *workers, *nannies]:
        host = at.removeprefix("tls://")
        for called, security in ((f"tcp://{host}", None), (at, distributed.Security.temporary())):
            with pytest.raises(OSError):
                asyncio.run(is_answered(called, security))
    with pytest.raises(OSError):
        distributed.Client(f"tcp://{address.removeprefix('tls://')}", timeout=2)


async def is_answered(address, security):
    arguments = {} if security is None else security.get_connection_args("client")
    comm = await distributed.core.connect(address, timeout=2, **arguments)
    try:
        await comm.write({"op": "identity", "reply": True})
        await asyncio.wait_for(comm.read(), 2)
    finally:
        comm.abort()


def shows_its_pages_to_this_machine_only(scheduler):
    at = scheduler.http_server
    sockets = [one.getsockname()[0] for one in at._sockets.values()]
    assert sockets == ["127.0.0.1"]

    def ask(host):
        request = urllib.request.Request(f"http://127.0.0.1:{at.port}/health", headers={"Host": host})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status

    assert ask(f"127.0.0.1:{at.port}") == ask("localhost") == 200
    for other in ("evil.example", f"evil.example:{at.port}", "localhost.evil.example", "127.0.0.1.evil.example"):
        with pytest.raises(urllib.error.HTTPError):
            ask(other)


def test_processes_of_this_machine(tmp_path):
    with cluster.place("local", {"workers": 1}) as place:
        refuses_strangers(place, tmp_path)
        shows_its_pages_to_this_machine_only(place.client.cluster.scheduler)


def test_pods(tmp_path, kubernetes):  # noqa: F811
    table = {"image": "registry/stripewise:1", "workers": 1, "namespace": "lab"}
    with cluster.place("kubernetes", table) as place:
        refuses_strangers(place, tmp_path)


SBATCH = """#!/bin/sh
# Runs the job on this machine: the number of the job is that of its process.
cp "$1" "$0.job"
setsid sh "$0.job" >"$0.out" 2>&1 &
echo "Submitted batch job $!"
"""


def test_jobs_of_slurm(tmp_path, monkeypatch):
    bin, work = tmp_path / "bin", tmp_path / "work"
    bin.mkdir()
    work.mkdir()
    for name, text in {"sbatch": SBATCH, "scancel": '#!/bin/sh\nkill -- "-$1"\n', "squeue": "#!/bin/sh\nexit 1\n"}.items():
        (bin / name).write_text(text)
        (bin / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(work)
    # What the job would import instead of its own packages.
    (work / "distributed.py").write_text("raise SystemExit('ran code of the folder')\n")
    table = {"jobs": 1, "cores": 1, "memory": "500MB", "walltime": "0:20:00", "interface": "lo"}
    with cluster.place("slurm", table) as place:
        place.client.wait_for_workers(1, timeout=60)
        job = (bin / "sbatch.job").read_text()
        assert "PRIVATE KEY" not in job
        keys = list((work / "slurm-logs").glob(".dask-jobqueue*"))
        assert len(keys) == 3 and all(stat.S_IMODE(key.stat().st_mode) == 0o600 for key in keys)
        refuses_strangers(place, tmp_path)
        shows_its_pages_to_this_machine_only(place.client.cluster.scheduler)
    assert not list((work / "slurm-logs").glob(".dask-jobqueue*")), "the keys end with the cluster"


def test_keys_are_not_put_where_others_write(tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs").chmod(0o777)
    with pytest.raises(SettingError, match="others may write to .*chmod go-w"):
        with cluster.place("slurm", {"folder": str(tmp_path / "logs")}):
            pass


@pytest.fixture
def host(tmp_path):
    """A server of SSH in this process, which runs commands: its port, the client's key, and the commands it ran."""
    client = asyncssh.generate_private_key("ssh-ed25519")
    client.write_private_key(str(tmp_path / "client"))
    client.write_public_key(str(tmp_path / "authorized"))
    ran, started, loop = [], threading.Event(), asyncio.new_event_loop()
    found = {}

    async def run(process):
        ran.append(process.command)
        child = await asyncio.create_subprocess_shell(
            f"exec {process.command}", cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        await process.redirect(stdin=child.stdin, stdout=child.stdout, stderr=child.stderr)
        found.setdefault("children", []).append(child)
        process.exit(await child.wait())

    async def serve():
        server = await asyncssh.listen(
            "127.0.0.1", 0, server_host_keys=[asyncssh.generate_private_key("ssh-ed25519")], process_factory=run,
            authorized_client_keys=str(tmp_path / "authorized"), encoding=None,
        )
        found["port"] = server.get_port()
        started.set()

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(serve(), loop)
    assert started.wait(20)
    yield found["port"], tmp_path / "client", ran, found
    for child in found.get("children", []):
        if child.returncode is None:
            child.kill()
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)


def test_hosts_of_ssh(tmp_path, host):
    port, key, ran, found = host
    # What the commands would import instead of the packages.
    (tmp_path / "stripewise.py").write_text("raise SystemExit('ran code of the folder')\n")
    table = {"hosts": ["127.0.0.1"], "port": port, "keys": [str(key)], "known_hosts": False, "workers_per_host": 1,
             "python": sys.executable}
    with cluster.place("ssh", table) as place:
        place.client.wait_for_workers(1, timeout=60)
        refuses_strangers(place, tmp_path)
        assert len(ran) == 2 and all("KEY" not in command for command in ran), "arguments are no secret"
        lines = [open(f"/proc/{child.pid}/cmdline").read() for child in found["children"]]
        assert all("PRIVATE" not in line for line in lines)
