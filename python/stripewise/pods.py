"""Clusters of pods, by the operator of dask-kubernetes. The keys of a cluster are a secret of its namespace."""

from __future__ import annotations

import base64
import contextlib
import functools
import importlib
import json
import secrets
from collections.abc import Iterator
from typing import Any

from .secured import HEALTH, texts

FOLDER = "/run/stripewise-keys"
"""Where the pods have the keys."""

FILES = {
    "ca-file": "tls_ca_file",
    "scheduler.cert": "tls_scheduler_cert",
    "scheduler.key": "tls_scheduler_key",
    "worker.cert": "tls_worker_cert",
    "worker.key": "tls_worker_key",
}
"""Keys of `distributed.comm.tls`, which are also names of files in the secret; and what `distributed.Security` calls them."""


def _operator() -> Any:
    return importlib.import_module("dask_kubernetes.operator.kubecluster.kubecluster")


def _upper(key: str) -> str:
    return key.replace(".", "__").replace("-", "_").upper()


def secret(name: str, security: Any) -> dict[str, Any]:
    """The resource with the keys."""
    known = texts(security)
    data = {file: base64.b64encode(known[field].encode()).decode() for file, field in FILES.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": "Opaque", "data": data}


def spec(name: str, image: str, workers: int, resources: Any) -> dict[str, Any]:
    """The resource `DaskCluster` of the operator, with the secret of its name in each pod."""
    env = {f"DASK_DISTRIBUTED__COMM__TLS__{_upper(file)}": f"{FOLDER}/{file}" for file in FILES}
    env["DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION"] = "True"
    # Probes of the cluster ask whether a pod is healthy. There are no other pages.
    env["DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES"] = env["DASK_DISTRIBUTED__WORKER__HTTP__ROUTES"] = json.dumps(HEALTH)
    made: dict[str, Any] = _operator().make_cluster_spec(
        name=name, image=image, n_workers=workers, resources=resources, env=env
    )
    parts = made["spec"]
    # The operator tells workers an address without encryption; `$(...)` is what Kubernetes replaces.
    commands = {
        "scheduler": ["dask-scheduler", "--host", "0.0.0.0", "--protocol", "tls", "--no-dashboard"],
        # The limit of the pod counts, as at the other places.
        "worker": ["dask-worker", f"tls://{name}-scheduler:8786", "--protocol", "tls", "--nthreads", "1", "--memory-limit",
                   "0", "--name", "$(DASK_WORKER_NAME)", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"],
    }
    for part, command in commands.items():
        pod = parts[part]["spec"]
        pod["volumes"] = [{"name": "keys", "secret": {"secretName": name}}]
        (container,) = pod["containers"]
        container["args"] = command
        container["volumeMounts"] = [{"name": "keys", "mountPath": FOLDER, "readOnly": True}]
    return made


@contextlib.contextmanager
def _reached_with(security: Any) -> Iterator[None]:
    """While the operator's package looks for the scheduler: it knows no keys, so its calls are given them."""
    modules = [_operator(), importlib.import_module("dask_kubernetes.operator.networking")]
    before = [module.rpc for module in modules]
    arguments = security.get_connection_args("client")
    try:
        for module in modules:
            module.rpc = functools.partial(module.rpc, connection_args=arguments)
        yield
    finally:
        for module, rpc in zip(modules, before, strict=True):
            module.rpc = rpc


def cluster(image: str, workers: int, namespace: Any, resources: Any, security: Any) -> Any:
    """A new cluster; one that is there already is not ours, whatever its name."""
    operator, objects = _operator(), importlib.import_module("kr8s.objects")
    name = f"stripewise-{secrets.token_hex(4)}"
    keys = objects.Secret(secret(name, security), namespace=namespace)

    class Secured(operator.KubeCluster):  # type: ignore[misc, name-defined]
        """The operator's cluster, reached with the keys."""

        async def _get_scheduler_address(self) -> str:
            address: str = await super()._get_scheduler_address()
            return address.replace("tcp://", "tls://", 1)

        def close(self, timeout: Any = 30) -> Any:
            try:
                return super().close(timeout)
            finally:
                keys.delete()

    keys.create()
    try:
        with _reached_with(security):
            return Secured(
                custom_cluster_spec=spec(name, image, workers, resources),
                namespace=namespace,
                create_mode=operator.CreateMode.CREATE_ONLY,
            )
    except BaseException:
        keys.delete()
        raise
