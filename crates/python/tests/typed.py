"""What users write, for mypy --strict."""

import numpy as np
import numpy.typing as npt

import peloton


def means(paths: list[str]) -> dict[str, float]:
    """The mean chi2 of the tracks of each file."""
    engine = peloton.Engine("velo", preset="best", threads=1, config={"velo": {"fit": {}}})
    found = {}
    for path in paths:
        for events in peloton.read(path, batch=100):
            results: peloton.Results = engine.run(events).product("velo_tracks")
            chi2: npt.NDArray[np.float32] = results.column("chi2")
            found[path] = float(chi2.mean())
    return found


def files(path: str) -> int:
    """Events of a run whose results go to a file."""
    summary: peloton.Summary = peloton.run(path, output="tracks.parquet", progress=True)
    tracks: peloton.Results = peloton.run(path, events=slice(0, 10))
    return len(tracks) + int(summary["events"])


def pixels(data: bytes) -> int:
    """Clusters in some bytes."""
    with peloton.clusters(data, format="tpx3", delta_ns=100.0) as stream:
        return sum(len(block.column("energy")) for block in stream)


def rates() -> tuple[float, bool]:
    """Speed, and whether two ways of computing agree."""
    measured = peloton.throughput("sim:velo,events=10", passes=1, isa="auto", gang="auto")
    return measured.events_per_second, peloton.compare("sim:velo,events=10", "isa=scalar", "gang=8").equal
