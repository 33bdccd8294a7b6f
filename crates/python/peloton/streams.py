"""Clusters of endless streams of pixel hits, while the hits arrive."""

import os
import threading
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Self, Unpack

from peloton import _native
from peloton._options import Options, Path_, request
from peloton.errors import Error
from peloton.reports import Summary
from peloton.results import Clusters, Results, wrap

Source = Path_ | bytes | bytearray | memoryview | Iterable[bytes]


class ClusterStream(Iterator[Clusters]):
    """Yields clusters block by block while the stream runs. `close` closes its files and sockets."""

    def __init__(self, native: _native.Stream, feeder: "_Feeder | None" = None) -> None:
        self._native = native
        self._feeder = feeder

    def __next__(self) -> Clusters:
        try:
            while (block := self._native.next()) is not None:
                if len(block):
                    results = wrap(block)
                    assert isinstance(results, Clusters)
                    return results
        except Error:
            # If the source has failed, the error of the source is the cause, and is raised instead of this error.
            if self._feeder is not None:
                self._feeder.raise_failure()
            raise
        if self._feeder is not None:
            self._feeder.raise_failure()
        raise StopIteration

    def close(self) -> None:
        """Ends the stream early."""
        self._native.close()
        if self._feeder is not None:
            self._feeder.close()

    @property
    def summary(self) -> Summary | None:
        """Summary of the whole stream; None before the end of the stream."""
        import json

        summary = self._native.summary
        return None if summary is None else Summary(json.loads(summary))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def clusters(
    source: Source,
    definition: str | None = None,
    delta_ns: float | None = None,
    calibration: Path_ | None = None,
    **options: Unpack[Options],
) -> ClusterStream:
    """Finds clusters of pixel hits from files, `sim:timepix`, `tcp://HOST:PORT` or `udp://HOST:PORT` (listens on the port),
    bytes, or an iterable of bytes (bytes need a `format`, such as "tpx3").

    `definition` is local, global or static (`peloton run --help`). `delta_ns` is the largest time difference between linked
    hits. `calibration` is a folder with the energy calibration of one chip, or with folders chip0, chip1 and so on for several
    chips. Times are in ns, energies in keV, positions in pixels. Only `peloton.run` pairs hits with triggers, in files:
    `peloton.run(source, "clusters.parquet", trigger="rise1")`.

    >>> import peloton
    >>> with peloton.clusters("sim:timepix,hits=20000,seed=1") as blocks:
    ...     sum(len(block) for block in blocks) > 1000
    True
    """
    options["sequence"] = "timepix"
    options["config"] = _config(options.get("config"), definition, delta_ns, calibration)
    if isinstance(source, str | os.PathLike):
        return ClusterStream(_native.Stream(request(source, **options)))
    feeder = _Feeder(source)
    try:
        stream = _native.Stream(request(feeder.path, **options))
    except BaseException:
        feeder.close()
        raise
    return ClusterStream(stream, feeder)


#: Duration of a tick of pixel times, ns.
_TICK = 1.5625


def _config(
    config: Any, definition: str | None, delta_ns: float | None, calibration: Path_ | None
) -> Any:
    find: dict[str, Any] = {}
    if definition is not None:
        find["definition"] = definition
    if delta_ns is not None:
        find["delta"] = int(delta_ns / _TICK)
    timepix: dict[str, Any] = {"find": find} if find else {}
    if calibration is not None:
        timepix["calibration"] = os.fspath(calibration)
    if not timepix:
        return config
    if config is not None:
        raise TypeError("clusters() takes a config, or definition, delta_ns and calibration, not both")
    return {"timepix": timepix}


class _Feeder:
    """Writes bytes from Python to a pipe that the native module reads."""

    def __init__(self, source: bytes | bytearray | memoryview | Iterable[bytes]) -> None:
        self._failure: BaseException | None = None
        self._read, self._write = os.pipe()
        self.path = f"/dev/fd/{self._read}"
        pieces = [source] if isinstance(source, bytes | bytearray | memoryview) else source
        self._thread = threading.Thread(target=self._feed, args=(pieces,), name="peloton-feeder", daemon=True)
        self._thread.start()

    def _feed(self, pieces: Iterable[bytes | bytearray | memoryview]) -> None:
        # The failure is stored before the pipe is closed, so that the reader of the pipe finds the failure.
        with open(self._write, "wb", buffering=0) as pipe:
            try:
                for piece in pieces:
                    rest = memoryview(piece).cast("B")
                    while rest:
                        rest = rest[pipe.write(rest) :]
            except BrokenPipeError:
                # The reader has closed the pipe.
                pass
            except BaseException as error:
                self._failure = error

    def raise_failure(self) -> None:
        """Closes the pipe, and raises the error of the source if it has failed."""
        self.close()
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Closes the reading end of the pipe."""
        if self._read >= 0:
            os.close(self._read)
            self._read = -1
