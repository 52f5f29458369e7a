"""Data frames as traces: a frame is written once, into the cache, and read as any other trace file."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import _stripewise
from .errors import SettingError

OWN = {"offset_bytes", "size_bytes", "kind"}
"""Columns of the schema of traces; with one of `TIMES` a frame is written as such a trace."""
TIMES = {"time_ns", "time_s"}
CHUNK = 1 << 20


def is_frame(value: Any) -> bool:
    """Whether a value is a data frame: of polars, pandas, pyarrow, DuckDB, or any with the Arrow PyCapsule interface."""
    return hasattr(value, "__arrow_c_stream__") or type(value).__name__ in ("DataFrame", "LazyFrame")


def written(frame: Any) -> str:
    """The file with the rows of a frame. Equal frames have the same file.

    Raises:
        SettingError: no library can write the frame; the user has no cache folder.
    """
    folder = _stripewise.cache_folder()
    if folder is None:
        raise SettingError("a frame is written into the cache, and there is no folder for it; set STRIPEWISE_CACHE_DIR")
    frames = Path(folder) / "frames"
    frames.mkdir(mode=0o700, parents=True, exist_ok=True)
    names, csv, parquet = _writers(frame)
    is_own = set(names) >= OWN and bool(TIMES & set(names))
    handle, aside = tempfile.mkstemp(dir=frames, suffix=".partial")
    os.close(handle)
    try:
        (parquet if is_own else csv)(aside)
        path = frames / (_digest(aside) + (".parquet" if is_own else ".csv"))
        os.replace(aside, path)
    except BaseException:
        os.unlink(aside)
        raise
    return os.fspath(path)


def _digest(path: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        while piece := file.read(CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def _library(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


Writer = Callable[[str], Any]


def _writers(frame: Any) -> tuple[list[str], Writer, Writer]:
    """The names of the columns, and what writes text and Parquet, by the library that the frame is of."""
    if _library(frame) == "pandas":
        return (
            [str(name) for name in frame.columns],
            lambda path: frame.to_csv(path, index=False),
            lambda path: frame.to_parquet(path, index=False),
        )
    if _library(frame) != "pyarrow":
        try:
            import polars
        except ImportError:
            pass
        else:
            lazy = isinstance(frame, polars.LazyFrame)
            found = frame.collect() if lazy else frame if isinstance(frame, polars.DataFrame) else polars.DataFrame(frame)
            return found.columns, found.write_csv, found.write_parquet
    try:
        import pyarrow
        from pyarrow import csv, parquet
    except ImportError:
        raise SettingError("a frame is written by polars or pyarrow; install one of them, as with pip install polars") from None
    table = pyarrow.table(frame)
    return table.column_names, lambda path: csv.write_csv(table, path), lambda path: parquet.write_table(table, path)
