"""Events in memory: read from inputs batch by batch, or simulated."""

import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Unpack, cast

import numpy as np

from peloton import _native
from peloton._options import Options, Path_, request
from peloton.errors import FormatError
from peloton.parts import parts_of, read_parts


class EventBatch:
    """Events in memory: hits, or raw banks."""

    def __init__(self, native: _native.Events) -> None:
        self._native = native

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"<peloton.EventBatch: {len(self):,} events, {self.kind}>"

    @property
    def kind(self) -> str:
        """The kind of the events: `velo hits`, `cylinder hits` or `banks`."""
        return self._native.kind

    @cached_property
    def ids(self) -> list[tuple[int, int | None, int | None]]:
        """For each event, its number among the events of the inputs, and the run and event numbers from the detector."""
        return self._native.ids()

    def hits(self) -> dict[str, np.ndarray[Any, Any]]:
        """Returns the columns of Velo hits that `Engine.run` takes: x, y, z in mm, id, module_start."""
        names = ("x", "y", "z", "id", "module_start")
        return {name: np.asarray(self._native.hits(name)) for name in names}

    def banks(self, event: int) -> list[tuple[int, int, int, bytes]]:
        """Returns the raw banks of an event: type, version, source, payload."""
        return self._native.banks(event)

    def truth(self) -> _native.Table | None:
        """Returns an Arrow table with one row per true particle: momentum in GeV/c, origin in mm, ids of its hits.

        The value is None if the particles were not requested, or if the input contains no truth.
        """
        return self._native.truth()


class Reader(Iterator[EventBatch]):
    """Reads inputs batch by batch, in memory that does not grow with the inputs."""

    def __init__(self, native: _native.Reader, batch: int) -> None:
        self._native = native
        self._batch = batch

    def __next__(self) -> EventBatch:
        events = self._native.read(self._batch)
        if events is None:
            raise StopIteration
        return EventBatch(events)

    @property
    def problems(self) -> tuple[list[str], int]:
        """The first problems so far of the input that did not stop the reading, as texts, and the number of all such problems."""
        return self._native.problems()

    @property
    def dropped(self) -> dict[str, int]:
        """Counts of data that were lost before they became events, by reason."""
        return dict(self._native.dropped())


def read(
    inputs: Path_ | Iterable[Path_],
    batch: int = 1000,
    truth: bool = False,
    **options: Unpack[Options],
) -> Reader:
    """Reads events, `batch` events at a time; with `truth=True` also their true particles.

    If `inputs` is a folder that `peloton.distributed.run` or `peloton run --plan` wrote, or one of its parts, the results in it
    are read in the same way as by `read_parts`.

    >>> import peloton
    >>> [len(events) for events in peloton.read("sim:velo,events=5,seed=1", batch=2)]
    [2, 2, 1]

    An engine of any LHCb sequence accepts the raw banks of LHCb. If files contain more than one kind of event, `sequence`
    selects the kind to read.
    """
    if isinstance(inputs, str | os.PathLike) and parts_of(inputs):
        # A type checker cannot know the content of a folder.
        return cast(Reader, read_parts(inputs))
    return Reader(_native.Reader(request(inputs, **options), truth), batch)


def simulate(
    detector: str = "lhcb",
    events: int = 100,
    seed: int = 1,
    output: Path_ | None = None,
    *,
    sequence: str | None = None,
    geometry: Path_ | None = None,
    threads: int | None = None,
) -> EventBatch:
    """Simulates events with their truth: `velo` (hits), `lhcb` (raw banks), `cylinder` (hits).

    The same seed gives the same events on every machine. With `output`, the events are also written to a file: `.ndjson`, `.mdf`
    or `.bin`.

    >>> import peloton
    >>> peloton.simulate("velo", events=2, seed=7)
    <peloton.EventBatch: 2 events, velo hits>
    """
    if output is not None:
        folder = None if geometry is None else os.fspath(geometry)
        _native.simulate(detector, events, seed, folder, os.fspath(output))
    name, *parameters = detector.split(",")
    spec = ",".join([f"sim:{name}", f"events={events}", f"seed={seed}", *parameters])
    sequence = sequence or ("cylinder" if name == "cylinder" else "velo")
    options = Options(sequence=sequence, geometry=geometry, threads=threads)
    for made in read(spec, batch=max(1, events), truth=True, **options):
        return made
    raise FormatError("there is no event to simulate: events must be at least 1")
