"""Keys of the clusters of studies, and which pages they serve.

Dask's schedulers and workers run the code that a connection sends. So each cluster has a key of its own, and refuses
connections that do not have it.
"""

from __future__ import annotations

from typing import Any

from .errors import SettingError

HEALTH = ["distributed.http.health"]
"""The only pages of workers: whether they are alive."""

WORKERS: dict[str, Any] = {"distributed.worker.http.routes": HEALTH}
"""Settings of Dask for workers."""

WITHOUT_PAGES: dict[str, Any] = {**WORKERS, "distributed.scheduler.http.routes": HEALTH}
"""Settings of Dask for schedulers on other machines, too."""

LOOPBACK = "127.0.0.1:0"
"""Where schedulers and workers serve their pages: at a free port that no other machine reaches."""

NAMES = r"(localhost|127\.0\.0\.1|\[?::1\]?)"
"""The names by which browsers may ask for pages; one of another name was sent here by a page of the web."""


def certificate() -> Any:
    """A key and a certificate for one cluster, `distributed.Security`. They exist only in memory."""
    from distributed import Security

    try:
        return Security.temporary()
    except ImportError as error:
        raise SettingError("a cluster needs keys: install cryptography with pip install 'stripewise[study]'") from error


def texts(security: Any) -> dict[str, Any]:
    """The certificate as texts, to make the same `distributed.Security` elsewhere."""
    kept = ("require_encryption", "tls_ca_file", "tls_scheduler_cert", "tls_scheduler_key", "tls_worker_cert", "tls_worker_key")
    return {name: getattr(security, name) for name in kept}


def answer_to_loopback(scheduler: Any) -> None:
    """Lets the pages of a scheduler of this process answer only to the names of this machine."""
    from tornado.routing import HostMatches, Rule, RuleRouter

    server = scheduler.http_server
    server.request_callback = RuleRouter([Rule(HostMatches(NAMES), server.request_callback)])
