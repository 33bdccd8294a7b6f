"""Real-time particle track and pixel cluster reconstruction.

>>> import peloton
>>> tracks = peloton.run("sim:velo,events=3,seed=1")
>>> len(tracks), tracks.column("chi2").dtype
(3, dtype('float32'))

Inputs are the same as on the command line: files, folders, simulations such as `sim:velo`, and network addresses for clusters.
Results are columns, which pyarrow, polars, pandas and duckdb read in place; `to_awkward()` converts them for awkward.
"""

from peloton._native import SCHEMA_VERSION, __version__
from peloton.engine import Engine
from peloton.errors import (
    ColumnError,
    ConfigError,
    Error,
    FormatError,
    InputError,
    InternalError,
    PelotonWarning,
    UnsupportedError,
)
from peloton.events import EventBatch, Reader, read, simulate
from peloton.jobs import check, compare, run, throughput, tune
from peloton.parts import Parts, read_parts
from peloton.pictures import Picture, display
from peloton.reports import CheckReport, Comparison, Profile, Summary, Throughput
from peloton.results import Clusters, Hits, Results, Tracks
from peloton.streams import ClusterStream, clusters

__all__ = [
    "SCHEMA_VERSION",
    "CheckReport",
    "ClusterStream",
    "Clusters",
    "ColumnError",
    "Comparison",
    "ConfigError",
    "Engine",
    "Error",
    "EventBatch",
    "FormatError",
    "Hits",
    "InputError",
    "InternalError",
    "Parts",
    "PelotonWarning",
    "Picture",
    "Profile",
    "Reader",
    "Results",
    "Summary",
    "Throughput",
    "Tracks",
    "UnsupportedError",
    "__version__",
    "check",
    "clusters",
    "compare",
    "display",
    "read",
    "read_parts",
    "run",
    "simulate",
    "throughput",
    "tune",
]
