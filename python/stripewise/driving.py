"""Drives workers through the batches of studies: a window of batches for each worker, in whatever order they end.

An engine is asked for four things: to submit a batch, for batches that ended, to cancel, and for its workers. Whether runs
are needed, and what becomes of a batch whose worker died, is the coordinator's business, which is compiled.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures import CancelledError as ExecutorCancelled
from typing import Any, Protocol, TypeAlias

from . import _stripewise
from ._stripewise import Coordinator, Stop
from .errors import RunError, SettingError, StripewiseError

Client: TypeAlias = Any
"""A `distributed.Client`."""

Reporter: TypeAlias = Callable[[Mapping[str, Any]], object]
"""Takes the counts of a study in progress."""

WINDOW = 3
"""Batches for each worker that are under way at a time: one runs, two wait, so that no worker is idle."""

LOOK_SECONDS = 0.02
"""Between two looks at batches that ended."""

REPORT_SECONDS = 1.0
"""Between two reports of the counts."""

_STOP = Stop()


def work(batch: bytes) -> list[bytes]:
    """Makes a batch in a worker, and gives its reports."""
    name = f"{socket.gethostname()}:{os.getpid()}"
    return _stripewise.study_work(batch, name=name, stop=_STOP)


class Lost(Exception):
    """The worker of a batch died."""


class Ended(Protocol):
    """A batch that ended."""

    def reports(self) -> list[bytes]:
        """Its reports.

        Raises:
            Lost: its worker died.
            StripewiseError: the worker refused it.
        """


class Engine(Protocol):
    """What makes batches."""

    def submit(self, key: tuple[int, int], batch: bytes) -> None:
        """Begins a batch."""

    def ended(self) -> list[tuple[tuple[int, int], Ended]]:
        """The batches that ended since the last call."""

    def workers(self) -> int:
        """How many batches can run at a time; 0 while no worker is there yet."""

    def cancel(self) -> None:
        """Cancels all batches that have not ended."""

    def close(self) -> None:
        """Ends what the engine began itself."""


class _Result:
    """A future of `concurrent.futures` that is done."""

    def __init__(self, future: Future[list[bytes]]) -> None:
        self.future = future

    def reports(self) -> list[bytes]:
        try:
            return self.future.result()
        except StripewiseError:
            raise
        except KeyboardInterrupt:
            raise
        except (Exception, ExecutorCancelled) as error:
            raise Lost(f"{type(error).__name__}: {error}") from error


class Executing:
    """An executor as an engine."""

    def __init__(self, executor: Executor, workers: int, function: Callable[[bytes], list[bytes]] = work) -> None:
        self.executor, self.count, self.function = executor, workers, function
        self.futures: dict[Future[list[bytes]], tuple[int, int]] = {}

    @classmethod
    def of_threads(cls, count: int) -> Executing:
        """Threads of this process, which stop with it."""
        stop = Stop()

        def here(batch: bytes) -> list[bytes]:
            return _stripewise.study_work(batch, name="this process", stop=stop)

        engine = cls(ThreadPoolExecutor(max_workers=count), count, here)
        engine.stop = stop
        return engine

    stop: Stop | None = None

    def submit(self, key: tuple[int, int], batch: bytes) -> None:
        self.futures[self.executor.submit(self.function, batch)] = key

    def ended(self) -> list[tuple[tuple[int, int], Ended]]:
        done = [future for future in self.futures if future.done()]
        return [(self.futures.pop(future), _Result(future)) for future in done]

    def workers(self) -> int:
        return self.count

    def cancel(self) -> None:
        if self.stop is not None:
            self.stop.set()
        for future in self.futures:
            future.cancel()
        self.futures.clear()

    def close(self) -> None:
        if self.stop is not None:
            self.stop.set()
        self.executor.shutdown()


def check(client: Client, cause: Exception | None = None) -> None:
    """Raises if the client has lost its scheduler: that has forgotten all batches, even if another one takes its place."""
    if client.status != "running":
        message = "the scheduler of the workers is gone; what they have committed is kept: run the study again"
        raise RunError(message) from cause


class _Computed:
    """A future of Dask that is done."""

    def __init__(self, future: Any, client: Client) -> None:
        self.future, self.client = future, client

    def reports(self) -> list[bytes]:
        try:
            reports: list[bytes] = self.future.result()
            return reports
        except StripewiseError:
            raise
        except Exception as error:
            check(self.client, error)
            raise Lost(f"{type(error).__name__}: {error}") from error
        finally:
            self.future.release()


class Computing:
    """A client of Dask as an engine: `submit`, `as_completed`, `cancel` and `scheduler_info`."""

    def __init__(self, client: Client, function: Callable[[bytes], list[bytes]] = work) -> None:
        from distributed import as_completed

        self.client, self.function = client, function
        self.completed = as_completed(loop=client.loop)
        self.keys: dict[Any, tuple[int, int]] = {}
        self.attempt = 0

    def submit(self, key: tuple[int, int], batch: bytes) -> None:
        self.attempt += 1
        # The name is new each time: a scheduler would give the error of an earlier attempt.
        name = f"stripewise-{id(self):x}-{self.attempt}"
        future = self.client.submit(self.function, batch, key=name, pure=False, retries=0)
        self.keys[future] = key
        self.completed.add(future)

    def ended(self) -> list[tuple[tuple[int, int], Ended]]:
        done: list[tuple[tuple[int, int], Ended]] = []
        while self.completed.has_ready():
            future = next(self.completed)
            key = self.keys.pop(future, None)
            if key is not None:
                done.append((key, _Computed(future, self.client)))
        if not done:
            check(self.client)
        return done

    def workers(self) -> int:
        check(self.client)
        workers = self.client.scheduler_info().get("workers", {})
        return sum(worker["nthreads"] for worker in workers.values())

    def cancel(self) -> None:
        # The scheduler may be gone, too.
        with contextlib.suppress(Exception):
            self.client.cancel(list(self.keys))
        self.keys.clear()

    def close(self) -> None:
        pass


def engine_of(client: Client | Executor) -> Engine:
    """The engine over a client or an executor."""
    if isinstance(client, Executor):
        count = getattr(client, "_max_workers", None)
        return Executing(client, count if isinstance(count, int) else os.cpu_count() or 1)
    wanted = ("submit", "cancel", "scheduler_info")
    if not all(callable(getattr(client, name, None)) for name in wanted):
        raise SettingError(f"client is {client!r}; give a distributed.Client or a concurrent.futures.Executor")
    return Computing(client)


def drive(
    coordinators: Sequence[Coordinator],
    engine: Engine,
    reporter: Reporter | None = None,
    tick: Callable[[], object] | None = None,
) -> None:
    """Drives the engine until all coordinators are done, or have nothing more to do.

    Args:
        coordinators: what hands out batches, the first one first.
        engine: what makes them.
        reporter: gets the counts of the first coordinator, about once a second.
        tick: called as often.
    """
    under_way = 0
    done: set[int] = set()
    looked, workers = 0.0, 0
    try:
        while True:
            now = time.monotonic()
            if now - looked >= REPORT_SECONDS or workers == 0:
                looked, workers = now, engine.workers()
                if tick is not None:
                    tick()
                if reporter is not None:
                    reporter(coordinators[0].counts())
            waits: set[int] = set()
            # At least one batch waits for the first worker.
            while under_way < WINDOW * max(workers, 1):
                begun = False
                for at, coordinator in enumerate(coordinators):
                    if at in done or at in waits:
                        continue
                    following = coordinator.next()
                    if following is None:
                        done.add(at)
                    elif isinstance(following, str):
                        waits.add(at)
                    else:
                        number, _, batch = following
                        engine.submit((at, number), batch)
                        under_way += 1
                        begun = True
                        break
                if not begun:
                    break
            if under_way == 0 and len(done) == len(coordinators):
                return
            ended = engine.ended()
            for (at, number), batch_ended in ended:
                under_way -= 1
                try:
                    reports = batch_ended.reports()
                except Lost as lost:
                    coordinators[at].lost(number, str(lost))
                    continue
                for report in reports:
                    coordinators[at].report(report)
            if not ended:
                time.sleep(LOOK_SECONDS)
    except BaseException:
        engine.cancel()
        raise


def line_of(counts: Mapping[str, Any], seconds: float, workers: int = 1) -> str:
    """The counts in words."""
    rate = counts["made"] / seconds if seconds > 0 else 0.0
    parts = [f"{counts['made']:,} runs made, {rate:.3g} a second"]
    if counts["found"]:
        parts.append(f"{counts['found']:,} found")
    parts.append(f"{counts['points_left'] + counts['points_open']:,} points left")
    if counts["failed"]:
        parts.append(f"{counts['failed']:,} FAILED")
    left = counts["left_ns"] / 1e9 / max(workers, 1)
    if counts["made"]:
        parts.append(f"about {left:.0f} s" if left < 120 else f"about {left / 60:.0f} min")
    if counts["narrowest"] is not None and counts["widest"] is not None:
        parts.append(f"±{counts['narrowest']:.1%} to ±{counts['widest']:.1%}")
    return ", ".join(parts)


@contextlib.contextmanager
def shown_counts(progress: bool | Reporter | None, name: str) -> Iterator[Reporter | None]:
    """The function that shows counts: the given one, a line on a terminal, or none."""
    if callable(progress):
        yield progress
        return
    if progress is not None and not isinstance(progress, bool):
        raise SettingError(f"progress is {progress!r}; give True, False, None or a function")
    if progress is False or progress is None and not sys.stderr.isatty():
        yield None
        return
    began, width = time.monotonic(), [0]

    def show(counts: Mapping[str, Any]) -> None:
        line = f"{name}: {line_of(counts, time.monotonic() - began, os.cpu_count() or 1)}"[:118]
        sys.stderr.write("\r" + line.ljust(width[0]))
        sys.stderr.flush()
        width[0] = len(line)

    try:
        yield show
    finally:
        sys.stderr.write("\r" + " " * width[0] + "\r")
        sys.stderr.flush()
