"""Writes clusters to HDF5 files with the layout of pymepix (documentation of pymepix, users/postprocessing)."""

import os
from typing import Any

import numpy as np

from peloton.errors import FormatError, InputError, UnsupportedError

#: Nanoseconds in a second; pymepix stores times of flight in s.
_NS = 1e9


def write(table: Any, path: str | os.PathLike[str]) -> None:
    """Writes clusters from any table that Arrow reads: results of `peloton.clusters`, or the table of a Parquet file.

    The group `centroided` has one value for each cluster, `raw` one for each hit: `trigger nr`, `x`, `y` (pixel), `tof` (s since
    the trigger, or since the beginning of the stream if there are no triggers), `tot` (ns; `tot avg`, `tot max`), `clustersize`.
    Option `trigger` of `peloton.run` adds the triggers; clusters before the first trigger are omitted, as in pymepix.
    """
    try:
        import h5py
        import pyarrow as pa
    except ImportError as error:
        raise UnsupportedError(f"{os.fspath(path)}: HDF5 files need h5py and pyarrow: {error}") from error
    columns = pa.table(table)
    missing = {"centroid_x", "hit_x", "hit_tot", "time"} - set(columns.column_names)
    if missing:
        raise FormatError(f"these are no clusters: there is no column {', '.join(sorted(missing))}")
    centroided, raw, triggers = _datasets(columns)
    try:
        with h5py.File(path, "w") as file:
            for group, datasets in (("centroided", centroided), ("raw", raw), ("triggers", triggers)):
                for name, values in datasets.items():
                    file.create_dataset(f"{group}/{name}", data=values)
    except OSError as error:
        raise InputError(f"{os.fspath(path)}: {error}") from error


#: Duration of a clock cycle of the time over threshold, ns.
_TOT_NS = 25

Datasets = dict[str, np.ndarray[Any, Any]]


def _datasets(table: Any) -> tuple[Datasets, Datasets, Datasets]:
    has_triggers = "trigger" in table.column_names
    if has_triggers:
        table = table.filter(table["trigger"].is_valid())
    table = table.combine_chunks()
    sizes = np.diff(_lists(table["hit_x"]).offsets.to_numpy())
    tot = _flat(table["hit_tot"]).astype(np.uint32) * _TOT_NS
    times = _flat(table["hit_time"])
    number = _plain(table["trigger"]) if has_triggers else np.zeros(len(table), np.uint32)
    since = _flat(table["hit_since_trigger"]) if has_triggers else times
    starts = np.concatenate(([0], np.cumsum(sizes)))
    first = starts[:-1]
    sums = np.add.reduceat(tot, first) if len(first) else tot[:0]
    centroided = {
        "trigger nr": number,
        "x": _plain(table["centroid_x"]),
        "y": _plain(table["centroid_y"]),
        "tof": since[first] / _NS,
        "tot avg": sums / np.maximum(sizes, 1),
        "tot max": np.maximum.reduceat(tot, first) if len(first) else tot[:0],
        "clustersize": sizes,
    }
    raw = {
        "trigger nr": np.repeat(number, sizes),
        "x": _flat(table["hit_x"]),
        "y": _flat(table["hit_y"]),
        "tof": since / _NS,
        "tot": tot,
    }
    seen, at = np.unique(number, return_index=True) if has_triggers else (number[:0], first[:0])
    of = (times - since)[first[at]] / _NS if len(seen) else np.empty(0)
    return centroided, raw, {"nr": seen, "time": of}


def _lists(column: Any) -> Any:
    """Returns the lists of a column as one array, also for a table without rows, which has no chunks."""
    import pyarrow as pa

    if not hasattr(column, "num_chunks"):
        return column
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


def _flat(column: Any) -> np.ndarray[Any, Any]:
    return np.asarray(_lists(column).flatten().to_numpy(zero_copy_only=False))


def _plain(column: Any) -> np.ndarray[Any, Any]:
    return np.asarray(column.to_numpy())
