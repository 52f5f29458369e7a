"""Schemes, devices and workloads by their names, files or texts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from . import _stripewise
from ._stripewise import Workload
from .errors import SettingError
from .policy import Policy, axes_of, identity, name_of

Value: TypeAlias = str | int | float | bool
Settings: TypeAlias = Mapping[str, Value]


def typed(settings: Settings | None) -> list[str]:
    """`KEY=VALUE` each, as the command takes them."""
    lines = []
    for key, value in (settings or {}).items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        lines.append(f"{key}={text}")
    return lines


class Scheme:
    """A scheme: one policy on every axis of the controller.

    Args:
        name: a preset's name (`stripewise.schemes()` lists them) or a file that ends in `.toml`. With `text`, only
            what messages call it.
        settings: keys to change, such as `{"update.tie": "rcw", "geometry.chunk": "16KiB"}`; they become a part of
            the name in results.
        text: the scheme as TOML.
        policy: a policy of your own instead of the scheme's, on the axes that it decides.

    Raises:
        SchemeError: an unknown name, with the nearest known one; an unknown key, with file and line.
        SettingError: a setting that has no meaning.
    """

    def __init__(
        self,
        name: str | os.PathLike[str],
        settings: Settings | None = None,
        *,
        text: str | None = None,
        policy: Policy | None = None,
    ) -> None:
        given = None if policy is None else (policy, name_of(policy), identity(policy), axes_of(policy))
        self._arguments = (os.fspath(name), dict(settings or {}), text, policy)
        self._inner = _stripewise.Scheme(os.fspath(name), typed(settings), text, given)

    @classmethod
    def of(cls, scheme: str | os.PathLike[str] | Policy | Scheme) -> Scheme:
        """What is meant by a name, a file, a name with settings behind commas (`baseline,update.tie=rcw`) or a
        policy."""
        if isinstance(scheme, Scheme):
            return scheme
        policy = scheme if isinstance(scheme, Policy) else None
        name = os.fspath(scheme if not isinstance(scheme, Policy) else scheme.scheme)
        if "," not in name or Path(name).is_file():
            return cls(name, policy=policy)
        name, *settings = name.split(",")
        given = {}
        for setting in settings:
            key, equals, value = setting.partition("=")
            if not equals:
                raise SettingError(f"setting {setting}: expected KEY=VALUE, as in update.tie=rcw")
            given[key.strip()] = value.strip()
        return cls(name, given, policy=policy)

    def __reduce__(self) -> tuple[Any, ...]:
        return _scheme, self._arguments

    @property
    def name(self) -> str:
        """The scheme's name, without its settings."""
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
        """The scheme as TOML, with all defaults."""
        return self._inner.to_toml()

    def to_dict(self) -> dict[str, Any]:
        """The scheme as dictionaries, with all defaults."""
        return self._inner.to_dict()

    def __repr__(self) -> str:
        return f"<stripewise.Scheme {','.join([self.name, *self.settings])}>"


def _scheme(name: str, settings: Settings, text: str | None, policy: Policy | None) -> Scheme:
    return Scheme(name, settings, text=text, policy=policy)


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
        self._arguments = (os.fspath(name), dict(settings or {}), text)
        self._inner = _stripewise.Device(os.fspath(name), typed(settings), text)

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
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    skip_bad: int = 0,
    requests: int | None = None,
    fold: str = "modulo",
) -> Workload:
    """The requests of a trace in a file: text or Parquet, plain, gzip or zstd.

    Args:
        path: the file.
        format: the trace's format; detected by default. `stripewise.formats()` lists the formats.
        skip_bad: the number of invalid lines to skip.
        requests: only the first N requests.
        fold: how addresses are folded onto the array: `modulo`, `dense[:UNIT]` or `regions[:N]`.

    Raises:
        TraceError: a file that cannot be read, or is no trace; with file and line where they are known.
    """
    return Workload.trace(os.fspath(path), format=format, skip_bad=skip_bad, requests=requests, fold=fold)


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
    return Workload.generated(what, requests=requests, fold=fold)
