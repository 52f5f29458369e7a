"""Clusters on hosts that SSH reaches, and the command that runs on each host, `python -P -m stripewise.hosts`.

What a host is to run, with the keys of the cluster, goes through the standard input of the command: no other account of the
host sees it, as arguments would be seen. The command ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import sys
from collections.abc import Mapping
from typing import Any

from .errors import RunError
from .secured import texts

READY = "stripewise is ready: "
"""Stands before the address of what was started."""

SECONDS = 60.0
"""The time that a host has to start."""


class _Process:
    """The scheduler, or the workers of a host, as `SpecCluster` wants it; mixed with its `ProcessInterface`."""

    address: Any
    connection: Any = None
    process: Any = None

    def __init__(self, host: str, options: Mapping[str, Any], python: str, task: dict[str, Any], **given: Any) -> None:
        super().__init__()
        # Workers are given the address of their scheduler, and a name.
        self.host, self.options, self.python = host, dict(options), python
        self.task = {**task, "scheduler": given.get("scheduler")}

    async def start(self) -> None:
        import asyncssh

        self.connection = await asyncssh.connect(self.host, **self.options)
        command = f"{self.python} -P -m stripewise.hosts"
        self.process = await self.connection.create_process(command)
        self.process.stdin.write(json.dumps(self.task) + "\n")
        said: list[str] = []

        async def answer() -> str:
            async for line in self.process.stdout:
                if line.startswith(READY):
                    return str(line.removeprefix(READY).strip())
            said.append(await self.process.stderr.read())
            raise RunError(f"{self.host}: {shlex.quote(command)} ended: {''.join(said)[-2000:].strip()}")

        self.address = await asyncio.wait_for(answer(), SECONDS)
        await super().start()  # type: ignore[misc]

    async def close(self) -> None:
        if self.process is not None:
            self.process.stdin.write_eof()
        if self.connection is not None:
            self.connection.close()
        await super().close()  # type: ignore[misc]


def cluster(hosts: list[str], options: Mapping[str, Any], per_host: int, python: str, security: Any, config: Any) -> Any:
    """A cluster with its scheduler on the first host, and workers on each."""
    from distributed.deploy.spec import ProcessInterface, SpecCluster

    class Process(_Process, ProcessInterface):  # type: ignore[misc]
        pass

    def one(host: str, what: dict[str, Any]) -> dict[str, Any]:
        task = {"security": texts(security), "config": config, **what}
        return {"cls": Process, "options": {"host": host, "options": options, "python": python, "task": task}}

    workers = {at: one(host, {"workers": per_host}) for at, host in enumerate(hosts)}
    for worker in workers.values():
        worker["cls"] = _worker(Process)
    return SpecCluster(workers, one(hosts[0], {"workers": 0}), name="stripewise", security=security)


def _worker(process: Any) -> Any:
    """`SpecCluster` gives the address of the scheduler to workers as their first argument."""

    def made(scheduler: str, **given: Any) -> Any:
        return process(scheduler=scheduler, **given)

    return made


async def _serve(task: dict[str, Any]) -> None:
    from distributed import Nanny, Scheduler, Security

    from .secured import LOOPBACK

    security = Security(**task["security"])
    servers: list[Any]
    if task["workers"]:
        options = {"nthreads": 1, "memory_limit": 0, "death_timeout": 60, "dashboard_address": LOOPBACK}
        servers = [Nanny(task["scheduler"], security=security, **options) for _ in range(task["workers"])]
    else:
        servers = [Scheduler(security=security, protocol="tls://", port=0, dashboard=False, dashboard_address=LOOPBACK)]
    await asyncio.gather(*servers)
    print(f"{READY}{servers[0].address}", flush=True)
    loop, ends = asyncio.get_running_loop(), asyncio.Event()
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(one, ends.set)
    # The command that started this one is gone when nothing can come from it.
    silent = loop.run_in_executor(None, sys.stdin.read)
    silent.add_done_callback(lambda _: ends.set())
    over = asyncio.gather(*(server.finished() for server in servers))
    over.add_done_callback(lambda _: ends.set())
    await ends.wait()
    await asyncio.wait_for(asyncio.gather(*(server.close() for server in servers), return_exceptions=True), 30)


def main() -> None:
    """The command."""
    import os

    import dask

    task = json.loads(sys.stdin.readline())
    with dask.config.set(task["config"]):
        try:
            asyncio.run(_serve(task))
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            # A thread waits for standard input, which may stay open.
            os._exit(0)


if __name__ == "__main__":
    main()
