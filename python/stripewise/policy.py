"""Policies written in Python."""

from __future__ import annotations

import inspect
import uuid
from typing import ClassVar, Literal

from ._stripewise import (
    ArraySegments,
    ChunkWrite,
    DeviceBlocks,
    ParityUpdate,
    QueuedOperation,
    ReadChoice,
    WriteCache,
)


class Policy:
    """What policies of your own have in common. Write a subclass of `UpdatePolicy`, `ReadPolicy`, `DispatchPolicy`,
    `DestagePolicy`, `ArrayGcPolicy`, `DeviceGcPolicy` or `HotnessPolicy`, and give an instance of it to `compare`, `run`
    or `sweep` where a scheme is expected. A class may derive from several of them and then decides on several axes, with
    common state.

    Each run works on a copy of the instance (`copy.deepcopy`), so runs on several threads and with several seeds do not
    see each other. A run is stored under a digest that includes the source of the class (and of the classes between it
    and those above) and the instance's attributes; what else decides its choices (functions outside, global variables,
    files) it does not see. Where the source cannot be had, the run is never taken for an earlier one.

    An exception, or an answer that is none, ends the run with a `PolicyError` that names the seed.

    Attributes:
        scheme: the scheme that everything else is taken from: a preset's name or a file.
        name: what results call it; the class' name if it is not given.
    """

    scheme: ClassVar[str] = "baseline"
    name: str = ""
    _axis: ClassVar[str] = ""

    def begin(self) -> None:
        """Called before the first request of each run, to forget what an earlier one left."""


class UpdatePolicy(Policy):
    """An update policy: for each parity update that must pre-read, it chooses between read-modify-write and
    read-construct-write. Write a subclass with a method `choose`, and give an instance of it to `compare` or `run`
    where a scheme is expected::

        class Lightest(stripewise.UpdatePolicy):
            scheme = "paper000-baseline"

            def choose(self, update):
                def load(members):
                    return max((update.queued_reads[m] + update.queued_writes[m] for m in members), default=0)

                return "rmw" if load(update.rmw_reads) <= load(update.rcw_reads) else "rcw"
    """

    _axis = "update"

    def choose(self, update: ParityUpdate) -> Literal["rmw", "rcw"] | None:
        """The routine of this update: "rmw" or "rcw"; None takes Baseline's.

        Args:
            update: the update and the state of the members; the object is reused for the next update.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method `choose`")


class ReadPolicy(Policy):
    """A read policy: for each read of chunks of a stripe, it chooses the members that are not read, because their chunks
    are decoded from the rest of the stripe. It is asked only where that is possible: with parity that is up to date."""

    _axis = "read"

    def avoid(self, read: ReadChoice) -> int | list[int] | None:
        """Members of the stripe that are not read, at most `read.parity` of them: wanted chunks on them are decoded. None
        reads all that is wanted directly.

        Args:
            read: the read and the state of the members; the object is reused for the next read.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method `avoid`")


class DispatchPolicy(Policy):
    """The order of the queues of members: each operation gets a rank when it enters the queue of its member, and the
    lowest rank is issued first."""

    _axis = "dispatch"

    def rank(self, operation: QueuedOperation) -> int:
        """The rank of this operation, from 0 to 2**64 - 1. Equal ranks are issued in order of arrival.

        Args:
            operation: the operation; the object is reused for the next one.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method `rank`")


class DestagePolicy(Policy):
    """The order in which write groups, one a stripe, leave a write cache. How full the cache is decides when, as in WOW:
    the keys `cache.size`, `cache.low_threshold`, `cache.high_threshold` and `cache.outstanding` apply."""

    scheme = "baseline,cache.policy=wow"
    _axis = "destage"

    def destage(self, cache: WriteCache) -> int | None:
        """The group that leaves now, one of `cache.groups`; None takes the first, which has the lowest address.

        Args:
            cache: the cache; the object is reused for the next call.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method `destage`")


class ArrayGcPolicy(Policy):
    """The victim of array GC, in schemes that append to a log."""

    scheme = "was"
    _axis = "array-gc"

    def segment(self, segments: ArraySegments) -> int | None:
        """The segment that is collected next, one of `segments.segments`; None takes one with the fewest valid chunks.

        Args:
            segments: the segments; the object is reused for the next collection.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method `segment`")


class DeviceGcPolicy(Policy):
    """The victim of device GC. It is also asked while the device is preconditioned."""

    _axis = "device-gc"

    def block(self, blocks: DeviceBlocks) -> int | None:
        """The block that is collected next, one of `blocks.blocks`; None takes the one with the fewest valid pages.

        Args:
            blocks: the written blocks of the plane; the object is reused for the next collection.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method `block`")


class HotnessPolicy(Policy):
    """Hotness, in schemes that append to a log: the tier of each chunk that hosts write. The keys `hotness.tiers` and
    `hotness.sequential_shortcut` of the scheme apply."""

    scheme = "was"
    _axis = "hotness"

    def tier(self, write: ChunkWrite) -> int:
        """The tier of this chunk, from 0, the coldest, to `write.tiers - 1`.

        Args:
            write: the chunk and its request; the object is reused for the next chunk.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method `tier`")


KINDS: tuple[type[Policy], ...] = (
    UpdatePolicy,
    ReadPolicy,
    DispatchPolicy,
    DestagePolicy,
    ArrayGcPolicy,
    DeviceGcPolicy,
    HotnessPolicy,
)
"""The classes to derive from, one for each axis."""


def axes_of(policy: Policy) -> list[str]:
    """The axes that it decides on."""
    axes = [kind._axis for kind in KINDS if isinstance(policy, kind)]
    if not axes:
        names = ", ".join(kind.__name__ for kind in KINDS)
        raise TypeError(f"{type(policy).__name__} decides nothing; derive it from one of {names}")
    return axes


def name_of(policy: Policy) -> str:
    """What results call it."""
    return policy.name or type(policy).__name__


def identity(policy: Policy) -> str:
    """All of it that can be seen to decide its choices, as a text."""
    parts = []
    for cls in type(policy).__mro__:
        if cls in (*KINDS, Policy, object):
            continue
        try:
            parts.append(f"{cls.__qualname__}\n{inspect.getsource(cls)}")
        except (OSError, TypeError):
            parts.append(f"{cls.__qualname__}, its source unknown: {uuid.uuid4()}")
    parts.extend(f"{key} = {value!r}" for key, value in sorted(vars(policy).items()))
    return "\n".join(parts)
