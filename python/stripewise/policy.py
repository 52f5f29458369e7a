"""Update policies written in Python."""

from __future__ import annotations

import inspect
import uuid
from typing import ClassVar, Literal

from ._stripewise import ParityUpdate


class UpdatePolicy:
    """An update policy: for each parity update that must pre-read, it chooses between read-modify-write and
    read-construct-write. Write a subclass with a method `choose`, and give an instance of it to `compare` or `run`
    where a scheme is expected::

        class Lightest(stripewise.UpdatePolicy):
            scheme = "paper000-baseline"

            def choose(self, update):
                def load(members):
                    return max(update.queued_reads[m] + update.queued_writes[m] for m in members)

                return "rmw" if load(update.rmw_reads) <= load(update.rcw_reads) else "rcw"

    A run is stored under a digest that includes the source of the class (and of the classes between it and this one)
    and the instance's attributes; what else decides its choices (functions outside, global variables, files) it does
    not see. Where the source cannot be had, the run is never taken for an earlier one.

    Attributes:
        scheme: the scheme that everything else is taken from: a preset's name or a file.
        name: what results call it; the class' name if it is not given.
    """

    scheme: ClassVar[str] = "baseline"
    name: str = ""

    def begin(self) -> None:
        """Called before the first update of each run, to forget what an earlier one left."""

    def choose(self, update: ParityUpdate) -> Literal["rmw", "rcw"] | None:
        """The routine of this update: "rmw" or "rcw"; None takes Baseline's.

        Args:
            update: the update and the state of the members; the object is reused for the next update.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method `choose`")


def name_of(policy: UpdatePolicy) -> str:
    """What results call it."""
    return policy.name or type(policy).__name__


def identity(policy: UpdatePolicy) -> str:
    """All of it that can be seen to decide its choices, as a text."""
    parts = []
    for cls in type(policy).__mro__:
        if cls is UpdatePolicy:
            break
        try:
            parts.append(f"{cls.__qualname__}\n{inspect.getsource(cls)}")
        except (OSError, TypeError):
            parts.append(f"{cls.__qualname__}, its source unknown: {uuid.uuid4()}")
    parts.extend(f"{key} = {value!r}" for key, value in sorted(vars(policy).items()))
    return "\n".join(parts)
