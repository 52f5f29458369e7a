"""Simulate arrays of flash: RAID over SSDs, channels or chips, compared scheme by scheme.

The main job, in three lines::

    import stripewise

    comparison = stripewise.compare(["baseline", "bpu", "adaptive"])
    print(comparison)

Runs release the interpreter's lock, show a progress bar, and stop on Ctrl-C. Their results are in the same store, under
the same digests, as those of the command `stripewise`: a run in the store is not computed again. Tables are Arrow
tables, which polars, pandas and pyarrow read without copying.
"""

from ._stripewise import (
    SOURCES,
    ArraySegments,
    ChunkWrite,
    DeviceBlocks,
    ParityUpdate,
    QueuedOperation,
    ReadChoice,
    Run,
    Table,
    Workload,
    WriteCache,
    __version__,
    devices,
    formats,
    generators,
    profiles,
    schemes,
)
from .comparison import Comparison
from .errors import (
    DeviceError,
    PolicyError,
    RunError,
    SchemeError,
    SettingError,
    StoreError,
    StripewiseError,
    StripewiseWarning,
    TraceError,
    UnknownName,
)
from .names import Device, Scheme, mttdl_years, open_run, open_trace, profile, workload
from .notebook import Intervals
from .policy import (
    ArrayGcPolicy,
    DestagePolicy,
    DeviceGcPolicy,
    DispatchPolicy,
    HotnessPolicy,
    Policy,
    ReadPolicy,
    UpdatePolicy,
)
from .studies import compare, run, sweep
from .study_file import Study, study

__all__ = [
    "SOURCES",
    "ArrayGcPolicy",
    "ArraySegments",
    "ChunkWrite",
    "Comparison",
    "DestagePolicy",
    "Device",
    "DeviceBlocks",
    "DeviceError",
    "DeviceGcPolicy",
    "DispatchPolicy",
    "HotnessPolicy",
    "Intervals",
    "ParityUpdate",
    "Policy",
    "PolicyError",
    "QueuedOperation",
    "ReadChoice",
    "ReadPolicy",
    "Run",
    "RunError",
    "Scheme",
    "SchemeError",
    "SettingError",
    "StoreError",
    "StripewiseError",
    "StripewiseWarning",
    "Study",
    "Table",
    "TraceError",
    "UnknownName",
    "UpdatePolicy",
    "Workload",
    "WriteCache",
    "__version__",
    "compare",
    "devices",
    "formats",
    "generators",
    "mttdl_years",
    "open_run",
    "open_trace",
    "profile",
    "profiles",
    "run",
    "schemes",
    "study",
    "sweep",
    "workload",
]
