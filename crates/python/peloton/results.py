"""Results: columns of tracks, hits or clusters."""

import json
import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from peloton import _native

if TYPE_CHECKING:
    import awkward
    import pandas
    import polars
    import pyarrow


@dataclass(frozen=True)
class Field:
    """Description of a column: name, depth of the values (0 for rows, 1 for items of rows and so on), unit and meaning."""

    name: str
    depth: int
    unit: str
    meaning: str


@dataclass(frozen=True)
class Hashes:
    """Hashes, as on the command line: `hash_int` covers hit lists, offsets and statuses, `output_hash` all columns."""

    hash_int: str
    output_hash: str


class Results:
    """Results of a run: a row is an event (or cluster), with lists of its tracks and hits.

    The columns and their units are the same as in the files that the command line writes (docs/columns.md). Columns are not
    copied: `pyarrow.table(results)`, `polars.DataFrame(results)`, `pandas.DataFrame.from_arrow(results)` and `column` read
    this memory in place, and keep it alive. Times and energies of pixels are converted to ns and keV once.

    If `write` of the configuration names several products, this is the first product; `product()` returns any product by name.
    """

    def __init__(self, native: _native.Results) -> None:
        self._native = native

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        counts = (f"{count:,} {level}s" for level, count in self.counts.items())
        return f"<peloton.{type(self).__name__}: {', '.join(counts)}>"

    def __getitem__(self, row: int) -> dict[str, Any]:
        """Returns one row as plain Python values.

        >>> import peloton
        >>> peloton.run("sim:velo,events=3,seed=1")[0]["status"]
        0
        """
        size = len(self)
        if not -size <= row < size:
            raise IndexError(f"row {row} of {size}")
        row %= size
        return {field.name: self._value(field, row) for field in self.fields}

    def _value(self, field: Field, row: int) -> Any:
        if field.depth == 0:
            if self._native.is_missing(field.name, row):
                return None
            values = np.asarray(self._native.column(field.name, True))
            return values[row].item() if len(values) == len(self) else values[self._rows(values, row)].tolist()
        values = self.column(field.name)
        starts = self.starts(0)
        first, end = int(starts[row]), int(starts[row + 1])
        if field.depth == 1:
            return values[first:end].tolist()
        inner = self.starts(1)
        return [values[inner[item] : inner[item + 1]].tolist() for item in range(first, end)]

    def _rows(self, values: np.ndarray[Any, Any], row: int) -> slice:
        # A column of starts of several lists per row has the same number of starts in each row.
        each = len(values) // len(self)
        return slice(row * each, (row + 1) * each)

    @property
    def products(self) -> list[str]:
        """The names of all products of the run, in the order of `write`."""
        return self._native.products

    def product(self, name: str) -> "Results":
        """Returns the product of the same run with this name, without a copy.

        >>> import peloton
        >>> config = {"write": ["velo_tracks", "long_tracks"]}
        >>> results = peloton.run("sim:lhcb,events=3,seed=1", sequence="long", config=config)
        >>> len(results.product("long_tracks"))
        3
        """
        made = wrap(self._native.product(name))
        of_run = {key: value for key, value in self.__dict__.items() if key in ("summary", "counters")}
        made.__dict__.update(of_run)
        return made

    @cached_property
    def fields(self) -> list[Field]:
        """Descriptions of the columns, in their order."""
        return [Field(**field) for field in json.loads(self._native.schema)]

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of events, tracks and hits, or of clusters and hits."""
        return {level: self._native.items(depth) for depth, level in enumerate(self._native.levels)}

    @property
    def status(self) -> np.ndarray[Any, np.dtype[np.uint16]]:
        """The status of each event: 0 if reconstructed, otherwise a code listed in docs/columns.md."""
        return self.column("status")

    @cached_property
    def counters(self) -> dict[str, Any]:
        """Counts of the run: `events`, `dropped` by reason, and `stages` with their times in ns; empty for the blocks
        of a stream, whose summary has the counts."""
        counters: dict[str, Any] = json.loads(self._native.counters)
        return counters

    @property
    def dropped(self) -> dict[str, int]:
        """Number of lost events or hits, by reason; empty without losses."""
        dropped: dict[str, int] = self.counters["dropped"]
        return dropped

    @cached_property
    def hash(self) -> Hashes:
        """The hashes that `peloton run --json -` prints for the same events."""
        return Hashes(*self._native.hashes())

    def column(self, name: str) -> np.ndarray[Any, Any]:
        """Returns the values of a column, row after row, as a read-only array without a copy.

        `starts` returns the positions at which the lists of rows begin.
        """
        return np.asarray(self._native.column(name))

    def starts(self, depth: int = 0) -> np.ndarray[Any, np.dtype[np.int32]]:
        """Returns the start of the list of each row (depth 0) or of each track (depth 1), and the end of the last list."""
        return np.asarray(self._native.starts(depth))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def to_arrow(self) -> "pyarrow.Table":
        """Returns a table of pyarrow over the same memory."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> "polars.DataFrame":
        """Returns a data frame of polars."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> "pandas.DataFrame":
        """Returns a data frame of pandas with Arrow columns."""
        import pandas

        return self.to_arrow().to_pandas(types_mapper=pandas.ArrowDtype)

    def to_awkward(self) -> "awkward.Array":
        """Returns an awkward array over the same memory (`tracks.beam.x`, `tracks.hits`); `attrs["units"]` has units."""
        from peloton.awkward import to_awkward

        return to_awkward(self)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes a file: `.parquet` or `.ndjson` like the command line, or `.root` with an RNTuple (needs uproot)."""
        if os.fspath(path).endswith(".root"):
            from peloton.root import write

            write(self, path)
            return
        self._native.write(os.fspath(path))


class Tracks(Results):
    """Tracks of events."""


class Hits(Results):
    """Hits of events, decoded from raw banks."""


class Clusters(Results):
    """Clusters of pixels."""

    def to_hdf5(self, path: str | os.PathLike[str]) -> None:
        """Writes a file with the layout of pymepix (needs h5py)."""
        from peloton.hdf5 import write

        write(self, path)

    def plot_frame(self, ax: Any = None, **options: Any) -> Any:
        """Draws the sum of the times over threshold of each pixel; returns the axes (needs matplotlib)."""
        from peloton.plot import frame

        return frame(self, ax, **options)


def wrap(native: _native.Results) -> Results:
    """Returns the results as an object of the class Tracks, Hits or Clusters."""
    levels = native.levels
    if levels[0] == "cluster":
        return Clusters(native)
    return Tracks(native) if "track" in levels else Hits(native)
