"""What can go wrong, each with a class of its own."""

from __future__ import annotations


class StripewiseError(Exception):
    """Anything that stripewise refuses or fails at. The message says where, what, and what to do.

    Attributes:
        file: the file that the error is in, where there is one.
        line: the line in that file, counted from 1, where it is known (of binary files: the record).
    """

    file: str | None = None
    line: int | None = None


class SettingError(StripewiseError, ValueError):
    """A value that has no meaning: a setting, a pacing, a number of requests."""


class UnknownName(SettingError, KeyError):
    """A name that is not there: of a total, of a scheme of a comparison."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class TraceError(StripewiseError):
    """A trace, generator or profile that cannot be read or understood."""


class SchemeError(StripewiseError, ValueError):
    """A scheme that cannot be read, or has no meaning over these members."""


class DeviceError(StripewiseError, ValueError):
    """A device that cannot be read, or cannot be."""


class StoreError(StripewiseError):
    """Results that cannot be written or read."""


class RunError(StripewiseError):
    """A run that failed."""


class PolicyError(StripewiseError):
    """A policy written in Python that raised, or returned what is no answer. What it raised is the cause
    (`__cause__`), with its traceback.

    Attributes:
        scheme: the name of the policy's scheme.
        seed: the seed of the run that was ended; the same seed leads there again.
    """

    scheme: str = ""
    seed: int = 0


class StripewiseWarning(UserWarning):
    """A remark that readers of results should know: a setting that has no effect, or a trace whose format leaves a
    question open.
    """
