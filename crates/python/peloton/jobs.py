"""Functions that do the same jobs as the subcommands of the command line."""

import json
import os
from collections.abc import Callable, Iterable
from typing import Unpack, overload

from peloton import _native
from peloton._options import Options, Path_, request
from peloton._progress import reporter
from peloton.errors import ConfigError, FormatError
from peloton.reports import CheckReport, Comparison, Profile, Summary, Throughput
from peloton.results import Results, wrap

#: A function that receives the name of the current activity, its progress, and its total (None if the total is unknown).
Progress = Callable[[str, int, int | None], object]
Shown = Progress | bool | None


@overload
def run(
    inputs: Path_ | Iterable[Path_], output: None = None, progress: Shown = None, **options: Unpack[Options]
) -> Results: ...
@overload
def run(
    inputs: Path_ | Iterable[Path_], output: Path_, progress: Shown = None, **options: Unpack[Options]
) -> Summary: ...


def run(
    inputs: Path_ | Iterable[Path_],
    output: Path_ | None = None,
    progress: Shown = None,
    **options: Unpack[Options],
) -> Results | Summary:
    """Reconstructs all events of the inputs.

    Without `output`, returns the results in memory. With `output`, writes the results to a file (`.parquet`; `.ndjson` or
    `.clog`, also with `.zst`) and returns the summary. Positions are in mm (`cylinder`: cm), momenta in GeV/c.

    >>> import peloton
    >>> tracks = peloton.run("sim:velo,events=3,seed=1", preset="best", threads=1)
    >>> tracks.column("beam_x").shape == tracks.column("chi2").shape
    True

    `progress` is a function that is called as `progress(what, done, of)`, or True for a bar of tqdm; by default, a terminal
    shows a bar if tqdm is installed. Ctrl-C raises KeyboardInterrupt; the output is then a valid file of the events so far.
    Events that could not be reconstructed are counted in `dropped` and raise one PelotonWarning. FormatError is raised if no
    event could be reconstructed.
    """
    asked = request(inputs, **options)
    if output is None and (asked["columns"] or asked["compression"]):
        raise ConfigError("columns and compression are for files: name one with output")
    with reporter(progress) as report:
        if output is not None:
            summary, failure = _native.run(asked, os.fspath(output), report)
            made: Results | Summary = Summary(json.loads(summary))
        else:
            native, summary, failure = _native.collect(asked, report)
            results = wrap(native)
            about = json.loads(summary)
            results.__dict__["summary"] = Summary(about)
            results.__dict__["counters"] = {
                "events": about["events"],
                "dropped": about["dropped"],
                "stages": about["stages"],
            }
            made = results
    raise_failure(failure, made)
    return made


def raise_failure(failure: str | None, made: object) -> None:
    """Raises an error if the whole job has failed; the attribute `results` of the error has the job's results."""
    if failure is not None:
        error = FormatError(failure)
        error.__dict__["results"] = made
        raise error


def check(
    inputs: Path_ | Iterable[Path_],
    rules: str | None = None,
    tracks: Path_ | None = None,
    losses: bool = False,
    truth_output: Path_ | None = None,
    progress: Shown = None,
    against: Path_ | None = None,
    **options: Unpack[Options],
) -> CheckReport:
    """Reconstructs events and compares tracks with the truth: efficiencies, ghosts, clones, with their intervals.

    `rules` names the rules that decide which particles count as found (by default the rules of the sequence). `tracks` is a file
    with tracks of another program, which are checked instead. `losses` adds the reasons why particles are not found.
    `against` is a file of tracks to compare with, particle by particle. `truth_output` ("NAME.parquet") is a file for the
    outcome of every particle and track.

    >>> import peloton
    >>> report = peloton.check("sim:velo,events=5,seed=1")
    >>> report.json["events"]
    5
    """
    asked = request(inputs, **options)
    checking = {
        "rules": rules,
        "tracks": None if tracks is None else os.fspath(tracks),
        "against": None if against is None else os.fspath(against),
        "losses": losses,
        "truth_output": None if truth_output is None else os.fspath(truth_output),
    }
    with reporter(progress) as report:
        text, found, is_right, failure = _native.check(asked, checking, report)
    checked = CheckReport(json.loads(found), text, is_right)
    raise_failure(failure, checked)
    return checked


def throughput(
    inputs: Path_ | Iterable[Path_],
    seconds: float = 2.0,
    passes: int | None = None,
    progress: Shown = None,
    **options: Unpack[Options],
) -> Throughput:
    """Measures the rate, events/s, on events in memory, for `seconds`, or for exactly `passes` passes over the events."""
    asked = request(inputs, **options)
    with reporter(progress) as report:
        return Throughput(json.loads(_native.throughput(asked, seconds, passes, report)))


def tune(
    inputs: Path_ | Iterable[Path_],
    seconds: float = 1.0,
    progress: Shown = None,
    **options: Unpack[Options],
) -> Profile:
    """Measures the time of every instruction set and gang size of this CPU, for `seconds` each."""
    asked = request(inputs, **options)
    with reporter(progress) as report:
        found, toml = _native.tune(asked, seconds, report)
    return Profile(json.loads(found), toml)


def compare(
    inputs: Path_ | Iterable[Path_],
    left: str = "",
    right: str = "",
    progress: Shown = None,
    **options: Unpack[Options],
) -> Comparison:
    """Reconstructs twice, with options `left` and `right` such as "isa=scalar,threads=1", and compares the results bit by bit.

    >>> import peloton
    >>> peloton.compare("sim:velo,events=5,seed=1", "isa=scalar", "threads=2").equal
    True
    """
    asked = request(inputs, **options)
    with reporter(progress) as report:
        return Comparison(json.loads(_native.compare(asked, left, right, report)))
