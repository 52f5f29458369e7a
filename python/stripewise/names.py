"""Schemes, devices and workloads by their names, files or texts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from . import _stripewise, frames, kinds
from ._stripewise import Run, Workload
from .errors import SettingError, TraceError, UnknownName
from .policy import Policy, axes_of, identity, name_of

Value: TypeAlias = str | int | float | bool
Settings: TypeAlias = Mapping[str, Value]


def typed(settings: Settings | None) -> list[str]:
    """`KEY=VALUE` each, as the command takes them."""
    lines = []
    for key, value in kinds.mapping("settings", settings, '{"gc.victim": "fifo"}').items():
        kinds.text("a key of settings", key, "gc.victim")
        if not isinstance(value, (str, int, float)):
            raise SettingError(f"the setting {key} is {value!r}; give a text, a number, True or False")
        text = str(value).lower() if isinstance(value, bool) else str(value)
        lines.append(f"{key}={text}")
    return lines


class Totals(dict[str, Any]):
    """The totals of a run, by their names. A name that is not there is an `UnknownName` with the nearest one."""

    def __missing__(self, name: object) -> Any:
        if not isinstance(name, str):
            raise UnknownName(f"{name!r} is no name of a total; give a text, as in 'response_p99_ns'")
        raise UnknownName(_stripewise.no_total(name, list(self)))


class Scheme:
    """A scheme: one policy on every axis of the controller.

    Args:
        name: a preset's name (`stripewise.schemes()` lists them) or a file that ends in `.toml`. With `text`, only
            what messages call it.
        settings: keys to change, such as `{"update.tie": "rcw", "geometry.chunk": "16KiB"}`; they become a part of
            the name in results.
        text: the scheme as TOML.
        policy: a policy of your own instead of the scheme's, on the axes that it decides.
        label: what tables, reports and results call it, in place of its name with its settings.

    Raises:
        SchemeError: an unknown name, with the nearest known one; an unknown key, with file and line.
        SettingError: a setting that has no meaning; a label that misleads, as the name of another scheme does.
    """

    def __init__(
        self,
        name: str | os.PathLike[str],
        settings: Settings | None = None,
        *,
        text: str | None = None,
        policy: Policy | None = None,
        label: str | None = None,
    ) -> None:
        name = kinds.name_or_path("scheme", name, "baseline")
        kinds.text("text", text, 'name = "mine"', optional=True)
        kinds.text("label", label, "mine", optional=True)
        if policy is not None and not isinstance(policy, Policy):
            raise SettingError(f"policy is {policy!r}; give an object of a class of policies, such as stripewise.UpdatePolicy")
        lines = typed(settings)
        given = None if policy is None else (policy, name_of(policy), identity(policy), axes_of(policy))
        self._arguments = (name, dict(settings or {}), text, policy, label)
        self._inner = _stripewise.Scheme(name, lines, text, given, label)

    @classmethod
    def of(cls, scheme: str | os.PathLike[str] | Policy | Scheme) -> Scheme:
        """What is meant by a name, a file, a name with settings behind commas (`baseline,update.tie=rcw`), each with a
        label before it or none (`mine=baseline,update.tie=rcw`), or a policy."""
        if isinstance(scheme, Scheme):
            return scheme
        policy = scheme if isinstance(scheme, Policy) else None
        if isinstance(scheme, type) and issubclass(scheme, Policy):
            raise SettingError(f"{scheme.__name__} is a class; give an object of it, {scheme.__name__}()")
        name = kinds.name_or_path("scheme", scheme if policy is None else policy.scheme, "baseline")
        if Path(name).is_file():
            return cls(name, policy=policy)
        label, name = _stripewise.split_label(name)
        if "," not in name:
            return cls(name, policy=policy, label=label)
        name, *settings = name.split(",")
        given = {}
        for setting in settings:
            key, equals, value = setting.partition("=")
            if not equals:
                raise SettingError(f"setting {setting}: expected KEY=VALUE, as in update.tie=rcw")
            given[key.strip()] = value.strip()
        return cls(name, given, policy=policy, label=label)

    def __reduce__(self) -> tuple[Any, ...]:
        return _scheme, self._arguments

    @property
    def name(self) -> str:
        """The scheme's name, without its settings."""
        return self._inner.name

    @property
    def label(self) -> str | None:
        """What results call it; None if it has no label."""
        return self._inner.label

    @property
    def settings(self) -> list[str]:
        """The settings that it was given, `KEY=VALUE` each."""
        return self._inner.settings

    @property
    def source(self) -> str:
        """The text as it was written, with its comments and sources, before any setting."""
        return self._inner.source

    def to_toml(self) -> str:
        """The scheme as TOML, with all defaults."""
        return self._inner.to_toml()

    def to_dict(self) -> dict[str, Any]:
        """The scheme as dictionaries, with all defaults."""
        return self._inner.to_dict()

    def __repr__(self) -> str:
        label = f"{self.label}=" if self.label else ""
        return f"<stripewise.Scheme {label}{','.join([self.name, *self.settings])}>"


def _scheme(
    name: str, settings: Settings, text: str | None, policy: Policy | None, label: str | None = None
) -> Scheme:
    return Scheme(name, settings, text=text, policy=policy, label=label)


class Device:
    """A device: a modelled SSD.

    Args:
        name: a preset's name (`stripewise.devices()` lists them) or a file that ends in `.toml`. With `text`, only
            what messages call it.
        settings: keys to change, such as `{"gc.victim": "fifo", "geometry.blocks": 256}`.
        text: the device as TOML.

    Raises:
        DeviceError: an unknown name, with the nearest known one; an unknown key, with file and line; a device that
            cannot be, with the reason.
        SettingError: a setting that has no meaning.
    """

    def __init__(
        self, name: str | os.PathLike[str], settings: Settings | None = None, *, text: str | None = None
    ) -> None:
        name = kinds.name_or_path("device", name, "ssdsim-5+1")
        kinds.text("text", text, 'name = "mine"', optional=True)
        lines = typed(settings)
        self._arguments = (name, dict(settings or {}), text)
        self._inner = _stripewise.Device(name, lines, text)

    @classmethod
    def of(cls, device: str | os.PathLike[str] | Device) -> Device:
        """What is meant by a name or a file."""
        return device if isinstance(device, Device) else cls(device)

    def __reduce__(self) -> tuple[Any, ...]:
        return _device, self._arguments

    @property
    def name(self) -> str:
        """The device's name."""
        return self._inner.name

    @property
    def settings(self) -> list[str]:
        """The settings that it was given, `KEY=VALUE` each."""
        return self._inner.settings

    @property
    def source(self) -> str:
        """The text as it was written, with its comments and sources, before any setting."""
        return self._inner.source

    def to_toml(self) -> str:
        """The device as TOML, with all defaults."""
        return self._inner.to_toml()

    def to_dict(self) -> dict[str, Any]:
        """The device as dictionaries, with all defaults."""
        return self._inner.to_dict()

    def __repr__(self) -> str:
        return f"<stripewise.Device {self._inner.describe()}>"


def _device(name: str, settings: Settings, text: str | None) -> Device:
    return Device(name, settings, text=text)


def open_trace(
    path: Any,
    *,
    format: str | None = None,
    skip_bad: int = 0,
    requests: int | None = None,
    fold: str = "modulo",
) -> Workload:
    """The requests of a trace in a file: text or Parquet, plain or compressed; or those of a data frame.

    A data frame has a row for each request, in order, and columns with obvious names, such as time_us, op, offset and
    size_bytes, or those of `format`. It is written once into the cache folder.

    Args:
        path: the file; or a frame of polars, pandas, pyarrow, DuckDB or any other library with the Arrow PyCapsule interface.
        format: the trace's format; detected by default. `stripewise.formats()` lists the formats. Columns by other names are
            `columns:time=NAME:UNIT,op=NAME,offset=NAME,size=NAME`.
        skip_bad: the number of invalid lines to skip.
        requests: only the first N requests.
        fold: how addresses are folded onto the array: `modulo`, `dense[:UNIT]` or `regions[:N]`.

    Raises:
        TraceError: a file that cannot be read, or is no trace; with file and line where they are known.
    """
    path = frames.written(path) if frames.is_frame(path) else kinds.name_or_path("path", path, "trace.csv")
    kinds.text("format", format, "msr", optional=True)
    kinds.whole("skip_bad", skip_bad)
    kinds.count("requests", requests)
    kinds.text("fold", fold, "modulo")
    return Workload.trace(path, format=format, skip_bad=skip_bad, requests=requests, fold=fold)


def workload(what: str, *, requests: int | None = None, fold: str = "modulo") -> Workload:
    """The requests of a profile or a generator.

    Args:
        what: a profile's name (`stripewise.profiles()` lists them) or file, `paper000/hm_0`; or a generator with its
            keys (`stripewise.generators()`), `uniform:write=1,size=8KiB`.
        requests: how many; of a profile that many are generated, and its footprint scales along.
        fold: how addresses are folded onto the array: `modulo`, `dense[:UNIT]` or `regions[:N]`.

    Raises:
        TraceError: an unknown name, with the nearest known one; a key that the generator does not have.
    """
    kinds.text("what", what, "paper000/hm_0")
    kinds.count("requests", requests)
    kinds.text("fold", fold, "modulo")
    if (found := Path(what)).suffix != ".toml" and found.is_file():
        raise TraceError(f"{what} is a file; give stripewise.open_trace({what!r})")
    return Workload.generated(what, requests=requests, fold=fold)


def profile(name: str) -> dict[str, Any] | None:
    """The statistics of a profile as dictionaries; None when the workload of that name is a generator.

    Args:
        name: that of a built-in profile (`stripewise.profiles()` lists them), or a file that ends in `.toml`.

    Raises:
        TraceError: an unknown name, with the nearest known one.
    """
    found: dict[str, Any] | None = _stripewise.profile(kinds.name_or_path("name", name, "paper000/hm_0"))
    return found


def open_run(path: str | os.PathLike[str], scheme: str | None = None) -> Run:
    """The finished run in a folder of results.

    Args:
        path: the folder, which is named by the run's digest.
        scheme: what to call its scheme; by default its name.

    Raises:
        SettingError: there is no such run.
        StoreError: results that cannot be read.
    """
    kinds.text("scheme", scheme, "baseline", optional=True)
    return _stripewise.open_run(kinds.name_or_path("path", path, "stripewise-results/DIGEST"), scheme)


def mttdl_years(
    *,
    members: int = 8,
    parity: int = 1,
    groups: int = 1,
    failures_per_year: float = 0.25,
    repairs_per_year: float = 1e4,
    repair: str = "single",
    alpha: float = 1.0,
    elements: int | None = None,
) -> float:
    """The mean time to data loss of an array in years, by its Markov chain. Without arguments: paper 001's RAID-5.

    Args:
        members: of a parity group.
        parity: how many of them are parity.
        groups: parity groups.
        failures_per_year: of a member.
        repairs_per_year: of a failed member.
        repair: `single`, `parallel` or `together`.
        alpha: the factor on the rate of failures, as when devices age.
        elements: the former name of `members`, for one release.

    Raises:
        SettingError: no such array.
    """
    few = 2**32 - 1
    for name, value in (("members", members), ("parity", parity), ("groups", groups)):
        kinds.whole(name, value, 0, few)
    rates = {"failures_per_year": failures_per_year, "repairs_per_year": repairs_per_year, "alpha": alpha}
    for name, rate in rates.items():
        kinds.number(name, rate)
    kinds.text("repair", repair, "single")
    if elements is not None:
        kinds.whole("elements", elements, 0, few)
    return _stripewise.mttdl_years(members=members, parity=parity, groups=groups, repair=repair, elements=elements, **rates)
