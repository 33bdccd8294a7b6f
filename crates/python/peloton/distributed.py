"""Runs a job in parts on a Dask cluster.

    from dask.distributed import Client
    import peloton.distributed

    with Client("tcp://scheduler:8786") as client:
        manifest = peloton.distributed.run(["a.mdf", "b.mdf"], "tracks/", client, geometry="geometry/")
    print(manifest.hash_events)

Each part is one task, which writes its results to files in a folder that all machines share, and returns a few numbers. A part
that is done is not run again, so the same call after a crash runs only the missing parts.
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

# Each part uses all threads of its worker, so a worker runs one part at a time.
_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class FailedPart:
    """A part that is missing, or whose version, configuration or geometry differs from the other parts."""

    part: int
    input: str
    reason: str
    runs: int


@dataclass(frozen=True)
class Manifest:
    """The sums over all parts, from ``_manifest.json``."""

    is_complete: bool
    """Whether every part exists once, with the same version, configuration and geometry."""
    parts: int
    """Number of parts of the plan."""
    parts_done: int
    """Number of parts that are done."""
    hash_events: str
    """The sum of the hashes of all events; if all parts are complete, it equals the hash of one run over all inputs."""
    runs: int
    """How often parts were started, summed over all parts."""
    failed: list[FailedPart]
    """Missing parts, with the reasons why they are missing."""
    document: dict[str, Any] = field(repr=False)
    """The whole content of ``_manifest.json``, with the sums of all counters."""

    @property
    def events(self) -> int:
        """Number of events of all parts, including events that failed; for pixel hits, the number of clusters."""
        return int(self.document.get("events", 0))

    @property
    def tracks(self) -> int:
        """Number of tracks of all parts."""
        return int(self.document.get("tracks", 0))

    @property
    def dropped(self) -> dict[str, int]:
        """Number of lost events or hits of all parts, by reason; empty without losses."""
        dropped: dict[str, int] = self.document["dropped"]
        return {reason: count for reason, count in dropped.items() if count > 0}

    @classmethod
    def of(cls, document: dict[str, Any]) -> Manifest:
        """Makes a manifest from the content of ``_manifest.json``."""
        names = ("is_complete", "parts", "parts_done", "hash_events", "runs")
        failed = [FailedPart(**part) for part in document["failed"]]
        return cls(**{name: document[name] for name in names}, failed=failed, document=document)


class PartsFailed(Error):
    """Raised when some parts could not be made; all other parts exist."""

    def __init__(self, manifest: Manifest) -> None:
        super().__init__(manifest.document["failure"] or "not all parts are there")
        self.manifest = manifest

    def __reduce__(self) -> tuple[type[PartsFailed], tuple[Manifest]]:
        # By default, pickle restores an exception from its message only, without the manifest.
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
    """Reconstructs inputs in parts on a Dask cluster and sums the counts and hashes of the parts.

    Parameters
    ----------
    inputs
        Files, folders or simulations (``sim:lhcb``), or one plan made by ``peloton plan``: a file whose name ends in ``.json``.
    output
        Folder of the parts, which all workers share; part 17 is ``part-00017.parquet`` and ``part-00017.json``.
    client
        Client of the cluster; if None, the call starts a cluster with this machine's cores.
    part_events
        Largest number of events of a part, by default 10000; parts that take 2 to 10 s each are a good size. Not for plans,
        which already define their parts.
    retries
        Number of further tries of a part that fails; a wrong configuration is not tried again. Dask gives up a part after
        ``distributed.scheduler.allowed-failures`` + 1 of its workers have died. The part is then tried once more, alone, after
        all other parts: another part may have killed these workers.
    on_error
        If parts are missing, ``"raise"`` raises `PartsFailed` at the end, ``"skip"`` returns the manifest with their numbers.
    progress
        Whether to show the number of parts that are done; by default only on a terminal.
    force
        Whether parts that are done are made again, even if the folder contains parts of other inputs or options; otherwise such
        a folder is refused (`ConfigError`) before anything is written.
    verify
        Whether every part is read at the end and compared with its stored hash; if False, only the sizes of parts are checked.
    **options
        The options of `peloton.run`: ``sequence="long"``, ``geometry="geometry/"``, ``preset="hlt1"``, ``strict=True``. This call
        reads the configuration file, workers read geometry and calibration. ``max_bad`` limits losses of all parts together.

    One `PelotonWarning` reports all events that could not be reconstructed, or all pixel hits that were lost; ``dropped`` of the
    manifest gives their number for each reason.
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
        # If the disk is too full for the manifest, the reasons of failed parts are added to the exception.
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

    A scheduler other than Dask needs only this function; ``threads`` is the number of threads of a part. Events that could not
    be reconstructed are counted in the report and raise no warning.
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
        # The error is returned, not raised: Dask repeats a task that raises, and a wrong configuration fails every time.
        return {"part": part, "wrong": _words(error)}
    report = json.loads(text)
    return {name: report[name] for name in ("part", "host", "level", "seconds", "runs", *_MADE)}


def _run_parts(client: Client, job: _Job, parts: range, progress: bool | None) -> dict[int, str]:
    """Runs all parts; returns the reasons of failed parts."""
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    def submit(some: Iterable[int]) -> dict[Future[Any], int]:
        # With pure=True, Dask would reuse the result of equal arguments, even if the files of the part are gone.
        return {
            client.submit(_run_on_worker, job, part, retries=job.retries, pure=False): part for part in some
        }

    reasons: dict[int, str] = {}
    made: set[_Made] = set()

    def note(part: int, future: Future[Any]) -> BaseException | None:
        """Stores the outcome of a part."""
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
    # Dask suspects all parts that a worker had when the worker died. A suspect that runs alone shows whether it kills workers.
    killers = []
    for part in suspects:
        (future,) = submit([part])
        error = note(part, future)
        if isinstance(error, KilledWorker):
            reasons[part] = f"{error.allowed_failures + 1} workers died while they ran it, and nothing else"
            killers.append(part)
    # A worker may have died after it completed the part: such a part has not failed.
    for part in killers:
        if _made_of_part(Path(job.output), part) in made:
            del reasons[part]
    return reasons


#: Keys of a part's report that must have the same values in all parts of a job.
_MADE = ("version", "config_hash", "geometry_hash")
_Made = tuple[str | None, ...]


def _made(report: dict[str, Any]) -> _Made:
    return tuple(report[name] for name in _MADE)


def _made_of_part(folder: Path, part: int) -> _Made | None:
    """Returns the version, configuration hash and geometry hash of a part in the folder; None if the part is missing."""
    try:
        return _made(json.loads((folder / f"part-{part:05}.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _words(error: BaseException) -> str:
    """Returns the message of an exception, or its `repr` if the message is empty."""
    return str(error) or repr(error)


@contextlib.contextmanager
def _local_cluster() -> Iterator[Any]:
    """Yields a Dask cluster that uses this machine's cores, and closes it at the end."""
    from distributed import LocalCluster

    cluster: Any = LocalCluster(processes=True, threads_per_worker=1, dashboard_address=":0")
    workers = len(cluster.workers)
    # Adaptive scaling also replaces workers that die while they start.
    adaptive = cluster.adapt(minimum=workers, maximum=workers)
    try:
        yield cluster
    finally:
        adaptive.stop()
        # Closing the cluster fails while Dask is restarting a dead worker's process.
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
    """Returns the plan that is the only input, or makes a plan of the inputs; reserves the folder for the plan's parts."""
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
    """Returns the keys of a JSON document; a file of hits may be JSON, too, but has no key `parts`."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ()
    return document.keys() if isinstance(document, dict) else ()


def _request(**options: Unpack[Options]) -> dict[str, Any]:
    """Returns the request of each part; the plan gives the inputs and their format."""
    # The path is made absolute, since workers may run in another folder.
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
        # The native module reports the error.
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
    """Writes the reason of a part's failure to the file in which the manifest looks for it."""
    temporary = path.with_name("." + path.name)
    # The manifest also receives the reason from memory, since writing this file fails if the disk is full.
    with contextlib.suppress(OSError):
        temporary.write_text(json.dumps({"reason": reason}) + "\n", encoding="utf-8")
        temporary.replace(path)
