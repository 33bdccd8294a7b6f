"""Runs a job in parts on a Dask cluster.

    from dask.distributed import Client
    import peloton.distributed

    with Client("tcp://scheduler:8786") as client:
        manifest = peloton.distributed.run(["a.mdf", "b.mdf"], "tracks/", client, geometry="geometry/")
    print(manifest.hash_events)

Each part is one task, which returns a few numbers: results go to files in a folder that all machines share. A part that
is done is not run again, so that the same call after a crash makes the missing parts.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from peloton import _native
from peloton._options import Options, max_bad_text, request, toml
from peloton.errors import ConfigError, Error, InputError, warn

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["FailedPart", "Manifest", "PartsFailed", "run", "run_part"]

# A part has all threads of its worker, so that a worker runs one part at a time.
_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class FailedPart:
    """A part that is missing, or does not belong to the others."""

    part: int
    input: str
    reason: str
    runs: int


@dataclass(frozen=True)
class Manifest:
    """The sum of all parts, from ``_manifest.json``."""

    is_complete: bool
    """Whether every part exists once and belongs to the others."""
    parts: int
    """Number of parts of the plan."""
    parts_done: int
    """Number of parts that are done."""
    hash_events: str
    """The sum of the hashes of all events; when complete, the hash of one run over all inputs."""
    runs: int
    """Number of starts of all parts together."""
    failed: list[FailedPart]
    """Missing parts, with reasons."""
    document: dict[str, Any] = field(repr=False)
    """All of ``_manifest.json``, with the sums of all counters."""

    @property
    def events(self) -> int:
        """Number of events of all parts, with the events that could not be reconstructed; for pixel hits, number of clusters."""
        return int(self.document.get("events", 0))

    @property
    def tracks(self) -> int:
        """Number of tracks of all parts."""
        return int(self.document.get("tracks", 0))

    @property
    def dropped(self) -> dict[str, int]:
        """Losses of all parts, by reason; empty without losses."""
        dropped: dict[str, int] = self.document["dropped"]
        return {reason: count for reason, count in dropped.items() if count > 0}

    @classmethod
    def of(cls, document: dict[str, Any]) -> Manifest:
        """The manifest that a document describes."""
        names = ("is_complete", "parts", "parts_done", "hash_events", "runs")
        failed = [FailedPart(**part) for part in document["failed"]]
        return cls(**{name: document[name] for name in names}, failed=failed, document=document)


class PartsFailed(Error):
    """Some parts could not be made; all others exist."""

    def __init__(self, manifest: Manifest) -> None:
        super().__init__(manifest.document["failure"] or "not all parts are there")
        self.manifest = manifest

    def __reduce__(self) -> tuple[type[PartsFailed], tuple[Manifest]]:
        # Pickle else makes an exception again from its text alone.
        return PartsFailed, (self.manifest,)


def run(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    client: Client | None = None,
    *,
    part_events: int | None = None,
    retries: int = 2,
    on_error: str = "raise",
    progress: bool | None = None,
    force: bool = False,
    verify: bool = True,
    **options: Unpack[Options],
) -> Manifest:
    """Reconstructs inputs in parts on a Dask cluster and adds the parts up.

    Parameters
    ----------
    inputs
        Files, folders or ``sim:...``; or a plan that ``peloton plan`` made, a file whose name ends in ``.json``.
    output
        Folder of the parts, which all workers share: ``part-00017.parquet`` and ``part-00017.json`` each.
    client
        Client of the cluster; without it, a cluster of this machine's cores is started for the call.
    part_events
        Largest number of events of a part, 10000 without it; parts of 2 to 10 s each are a good size. A plan is cut already and
        takes no `part_events`.
    retries
        How often a part that fails is tried again, unless its configuration is wrong. Dask gives up a part after
        ``distributed.scheduler.allowed-failures`` + 1 of its workers have died. The part is then tried once more, alone, after
        all others: it may have waited at workers that died of another part.
    on_error
        ``"raise"``: `PartsFailed` at the end when parts are missing; ``"skip"``: return the manifest, which names them.
    progress
        Whether to show how many parts are done; by default on a terminal.
    force
        Whether parts that are done are made again, also where the folder holds parts of other inputs or options; without it such a
        folder is refused (`ConfigError`) before anything is written.
    verify
        Whether every part is read at the end and compared with its stored hash; without it, only its size is checked.
    **options
        The options of `peloton.run`: ``sequence="long"``, ``geometry="geometry/"``, ``preset="hlt1"``, ``strict=True``. A
        configuration file is read here; geometry and calibration are read by the workers. ``max_bad`` is for all parts together.

    Events that could not be reconstructed, or pixel hits that were lost, raise one `PelotonWarning`; the manifest counts them
    (``dropped``).
    """
    if on_error not in ("raise", "skip"):
        raise ValueError(f'on_error={on_error!r}: it is "raise" or "skip"')
    for name in ("threads", "events"):
        if options.get(name) is not None:
            raise TypeError(f"{name} is not for the caller: parts have it from the cluster and the plan")
    max_bad, format = options.pop("max_bad", None), options.pop("format", None)
    asked = _request(**options)
    _native.check_request(asked)
    folder = Path(output).absolute()
    plan = _plan(inputs, folder, part_events, format, asked, force)
    job = _Job(str(plan), str(folder), asked, retries, force)
    parts = range(len(json.loads(plan.read_text(encoding="utf-8"))["parts"]))
    if client is None:
        from distributed import Client

        with _local_cluster() as cluster, Client(cluster) as client:
            reasons = _run_parts(client, job, parts, progress)
    else:
        reasons = _run_parts(client, job, parts, progress)
    for part, reason in reasons.items():
        _write_reason(folder / f"part-{part:05}.failed.json", reason)
    try:
        sums = _native.add_parts(str(folder), str(plan), max_bad_text(max_bad), reasons, verify)
        manifest = Manifest.of(json.loads(sums))
    except InputError as error:
        # Where the disk has no room for the manifest, its reasons go into the exception.
        for part, reason in sorted(reasons.items()):
            error.add_note(f"part {part}: {reason}")
        raise
    if manifest.document["warning"] is not None:
        warn(manifest.document["warning"], level=3)
    if on_error == "raise" and manifest.document["failure"] is not None:
        raise PartsFailed(manifest)
    return manifest


def run_part(
    plan: str | os.PathLike[str],
    part: int,
    output: str | os.PathLike[str],
    *,
    force: bool = False,
    **options: Unpack[Options],
) -> dict[str, Any]:
    """Runs one part, unless it is done, and returns its report: the content of ``part-00017.json``.

    Your own scheduler needs only this function; ``threads`` is the number of threads of a part. Events that could not be
    reconstructed raise no warning: they are counted.
    """
    for name in ("events", "format"):
        _leave_to_the_plan(name, options.get(name))
    if options.get("max_bad") is not None:
        raise TypeError("max_bad is for all parts together: give it to `run`, or to `peloton manifest`")
    report, _was_done = _native.run_part(os.fspath(plan), part, _request(**options), os.fspath(output), force)
    return dict(json.loads(report))


@dataclass(frozen=True)
class _Job:
    """Settings of all parts of a job."""

    plan: str
    output: str
    asked: dict[str, Any]
    retries: int
    force: bool


def _run_on_worker(job: _Job, part: int) -> dict[str, Any]:
    """Runs one part with the threads of this worker, and returns a summary."""
    asked = {**job.asked, "threads": _threads_of_worker()}
    try:
        with _one_at_a_time:
            text, _was_done = _native.run_part(job.plan, part, asked, job.output, job.force)
    except ConfigError as error:
        # Returned, not raised: Dask repeats a task that raises, and a wrong configuration fails every time.
        return {"part": part, "wrong": _words(error)}
    report = json.loads(text)
    return {name: report[name] for name in ("part", "host", "level", "seconds", "runs", *_MADE)}


def _run_parts(client: Client, job: _Job, parts: range, progress: bool | None) -> dict[int, str]:
    """Runs all parts; returns the reasons of failed parts."""
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    def submit(some: Iterable[int]) -> dict[Future[Any], int]:
        # Not pure: else Dask reuses the result of equal arguments, even where the files of the part are gone.
        return {
            client.submit(_run_on_worker, job, part, retries=job.retries, pure=False): part for part in some
        }

    reasons: dict[int, str] = {}
    made: set[_Made] = set()

    def note(part: int, future: Future[Any]) -> BaseException | None:
        """Notes the outcome of a part."""
        reasons.pop(part, None)
        error: BaseException | None = future.exception()
        if error is not None:
            reasons[part] = _words(error)
        elif "wrong" in (told := future.result()):
            reasons[part] = told["wrong"]
        else:
            made.add(_made(told))
        return error

    suspects = []
    show = sys.stderr.isatty() if progress is None else progress
    futures = submit(parts)
    for count, future in enumerate(as_completed(list(futures)), 1):
        # Dask releases a future after its last reference is gone.
        part = futures.pop(future)
        if isinstance(note(part, future), KilledWorker):
            suspects.append(part)
        if show:
            failed = f", {len(reasons)} failed" if reasons else ""
            end = "\n" if count == len(parts) else ""
            print(f"\r{count} of {len(parts)} parts{failed}", end=end, file=sys.stderr, flush=True)
    # Dask suspects all parts that a worker had when it died. A part that runs alone shows whether it kills its worker.
    killers = []
    for part in suspects:
        (future,) = submit([part])
        error = note(part, future)
        if isinstance(error, KilledWorker):
            reasons[part] = f"{error.allowed_failures + 1} workers died while they ran it, and nothing else"
            killers.append(part)
    # A worker may have died when the part was done already.
    for part in killers:
        if _made_of_part(Path(job.output), part) in made:
            del reasons[part]
    return reasons


#: Keys with the same values in all parts that belong together.
_MADE = ("version", "config_hash", "geometry_hash")
_Made = tuple[str | None, ...]


def _made(report: dict[str, Any]) -> _Made:
    return tuple(report[name] for name in _MADE)


def _made_of_part(folder: Path, part: int) -> _Made | None:
    """Returns version and hashes of a part in the folder; None if it is missing."""
    try:
        return _made(json.loads((folder / f"part-{part:05}.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _words(error: BaseException) -> str:
    """Returns the message of an exception, or its name where it has no message."""
    return str(error) or repr(error)


@contextlib.contextmanager
def _local_cluster() -> Iterator[Any]:
    """Yields a cluster of this machine's cores, which is closed at the end."""
    from distributed import LocalCluster

    cluster: Any = LocalCluster(processes=True, threads_per_worker=1, dashboard_address=":0")
    workers = len(cluster.workers)
    # Workers that die while they start are replaced, too.
    adaptive = cluster.adapt(minimum=workers, maximum=workers)
    try:
        yield cluster
    finally:
        adaptive.stop()
        # Closing fails while Dask is starting a dead worker's process again.
        with contextlib.suppress(TimeoutError):
            cluster.wait_for_workers(workers, timeout=10)
        cluster.close()


def _plan(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    folder: Path,
    part_events: int | None,
    format: str | None,
    how: dict[str, Any],
    force: bool,
) -> Path:
    """Returns the given plan, or makes a plan of the inputs; claims the folder for its parts."""
    given = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    names = [os.fspath(name) for name in given]
    if len(names) == 1 and names[0].endswith(".json") and "parts" in _keys(names[0]):
        _leave_to_the_plan("format", format)
        _leave_to_the_plan("part_events", part_events)
        plan = Path(names[0]).absolute()
        _native.claim_folder(str(plan), how, str(folder), force)
        return plan
    events = 10_000 if part_events is None else part_events
    return Path(_native.make_plan(request(names, format=format), events, how, str(folder), force))


def _leave_to_the_plan(name: str, value: object) -> None:
    if value is not None:
        raise TypeError(f"{name} cannot be combined with a plan, which gives the input of each part")


def _keys(path: str) -> Iterable[str]:
    """Returns the keys of a JSON document; a file of hits is JSON, too, but has no key `parts`."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ()
    return document.keys() if isinstance(document, dict) else ()


def _request(**options: Unpack[Options]) -> dict[str, Any]:
    """Returns the request of each part; the plan gives the inputs and their format."""
    # Workers may run in another folder.
    geometry = options.get("geometry")
    if geometry is not None and os.fspath(geometry).rstrip("/") not in ("nominal", "nominal-forced"):
        options["geometry"] = os.path.abspath(geometry)
    asked = request((), **options)
    asked["config"] = _with_whole_paths(asked["config"])
    return asked


def _with_whole_paths(config: str) -> str:
    """Returns a configuration as TOML with the absolute path of the calibration of pixels."""
    try:
        values = tomllib.loads(config)
    except tomllib.TOMLDecodeError:
        # The native half reports the error.
        return config
    timepix = values.get("timepix")
    if not isinstance(timepix, dict):
        return config
    folder = timepix.get("calibration")
    if not isinstance(folder, str) or os.path.isabs(folder):
        return config
    return toml({**values, "timepix": {**timepix, "calibration": os.path.abspath(folder)}})


def _threads_of_worker() -> int:
    """Returns the number of threads of the worker that runs this task; 1 without a worker."""
    from distributed import get_worker

    try:
        return int(get_worker().state.nthreads)
    except ValueError:
        return 1


def _write_reason(path: Path, reason: str) -> None:
    """Writes why a part failed where the manifest looks for it."""
    temporary = path.with_name("." + path.name)
    # The manifest gets the reason from memory, too: this file may fail where the disk is full.
    with contextlib.suppress(OSError):
        temporary.write_text(json.dumps({"reason": reason}) + "\n", encoding="utf-8")
        temporary.replace(path)
