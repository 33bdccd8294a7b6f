"""Engine: reconstructs events in memory."""

import json
from typing import Any, Unpack

import numpy as np

from peloton import _native
from peloton._columns import column
from peloton._options import Options, request
from peloton.errors import ColumnError
from peloton.events import EventBatch
from peloton.results import Results, wrap


class Engine:
    """Reconstructs events in memory. Any number of threads may use one engine at once.

    >>> import peloton
    >>> engine = peloton.Engine(threads=1)
    >>> engine
    <peloton.Engine: velo, best, ...>
    >>> len(engine.run(peloton.simulate("velo", events=5, seed=1)))
    5

    An engine can be pickled, and used in a child of `fork`: each process makes its own threads and memory. The first argument is
    the name of the sequence; the other arguments are the options of `peloton.run`. Raw banks need a geometry.
    """

    def __init__(self, name: str | None = None, /, **options: Unpack[Options]) -> None:
        if name is not None:
            options["sequence"] = name
        self._asked = request((), **options)
        self._native = _native.Engine(self._asked)

    @property
    def config(self) -> str:
        """The whole configuration as TOML."""
        return self._native.config

    @property
    def info(self) -> dict[str, Any]:
        """Sequence, preset, instruction set, number of SIMD lanes per gang, number of threads, and stages."""
        info: dict[str, Any] = json.loads(self._native.info)
        return info

    def run(
        self,
        events: EventBatch | None = None,
        *,
        x: Any = None,
        y: Any = None,
        z: Any = None,
        module_start: Any = None,
        id: Any = None,
    ) -> Results:
        """Reconstructs events; other Python threads can run during the call.

        Takes events that `read` or `simulate` returned, or hits of the Velo as columns. `x`, `y`, `z` are positions in mm
        (float32). Module m of event e has the hits from `module_start[52 * e + m]` up to the next value of `module_start`
        (uint32). `id` (uint32) has the numbers by which tracks list their hits; by default, the numbers of hits in their event.
        Columns (numpy, pyarrow, polars, pandas, awkward, memoryviews) are copied first, so other threads may then write to them.

        >>> import numpy, peloton
        >>> hits = peloton.simulate("velo", events=5, seed=1).hits()
        >>> engine = peloton.Engine(threads=1)
        >>> engine.run(**hits).hash == engine.run(peloton.simulate("velo", events=5, seed=1)).hash
        True
        """
        if events is not None:
            if any(values is not None for values in (x, y, z, module_start, id)):
                raise TypeError("run() takes events or columns, not both")
            if not isinstance(events, EventBatch):
                raise TypeError(f"run() takes an EventBatch, or columns by name, not {type(events).__name__}")
            return wrap(self._native.run(events._native))
        missing = [name for name, values in (("x", x), ("y", y), ("z", z), ("module_start", module_start)) if values is None]
        if missing:
            raise TypeError(f"run() needs events, or the columns {', '.join(missing)}")
        starts = column("module_start", module_start, np.uint32)
        position = [column(name, values, np.float32) for name, values in (("x", x), ("y", y), ("z", z))]
        names = _ids(starts, len(position[0])) if id is None else column("id", id, np.uint32)
        return wrap(self._native.run_hits(position, names, starts))

    def __repr__(self) -> str:
        about = self.info
        level = f"{about['isa']} x {about['gang']}"
        of = ", ".join(about[key] for key in ("sequence", "preset") if about[key])
        return f"<peloton.Engine: {of}, {level}, threads={about['threads']}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._asked,)


def _restored(asked: dict[str, Any]) -> Engine:
    engine = Engine.__new__(Engine)
    engine._asked = asked
    engine._native = _native.Engine(asked)
    return engine


#: Number of modules of the Velo; every event has one list of hits for each module.
_MODULES = 52


def _ids(starts: np.ndarray[Any, Any], hits: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Returns the number of each hit in its event."""
    first = starts[:-1:_MODULES].astype(np.int64)
    ends = starts[_MODULES::_MODULES].astype(np.int64)
    counts = ends - first[: len(ends)]
    if len(starts) % _MODULES != 1 or (counts < 0).any() or counts.sum() != hits:
        raise ColumnError("module_start: not 52 rising starts for each event, from 0 to the number of hits")
    return np.arange(hits, dtype=np.uint32) - np.repeat(first, counts).astype(np.uint32)
