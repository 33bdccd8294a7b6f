"""Many files on a Dask cluster whose workers die: `python killed_workers.py FOLDER [--files 24] [--events 200]`.

Makes files of simulated raw events, damages one of them, and runs dask_tracks.py over all with two worker processes. Meanwhile a
worker, whichever it is, is killed every few seconds, and another file kills whoever reads it, as one does that needs more memory than
there is. Then looks whether all parts but that file's are there, and are those that one process makes; whether a second run
makes the missing part alone; and whether a third one has nothing to do. Ends with an error where something is not as it must be.
"""

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import psutil

import peloton
import peloton.distributed

EXAMPLE = Path(__file__).with_name("dask_tracks.py")

#: What each worker loads: from then on a file kills it.
POISON = """
import json, os
from peloton import _native

run_part = _native.run_part

def unless_it_is_deadly(plan, part, *how):
    document = json.load(open(plan))
    path = document["inputs"][document["parts"][part]["input"]]["path"]
    if path == os.environ["POISON"]:
        os.kill(os.getpid(), 9)
    return run_part(plan, part, *how)

def dask_setup(worker):
    _native.run_part = unless_it_is_deadly
"""


def must(truth: bool, what: str) -> None:
    if not truth:
        sys.exit(f"FAILED: {what}")
    print(f"    {what}", flush=True)


class Timer:
    """Says how long each step took."""

    def __init__(self) -> None:
        self.begin = time.perf_counter()

    def tell(self, what: str) -> None:
        print(f"{what}: {time.perf_counter() - self.begin:.1f} s", flush=True)
        self.begin = time.perf_counter()


def make_files(folder: Path, files: int, events: int) -> list[Path]:
    """Files of raw events; bytes in the middle of the fifth are damaged."""
    paths = [folder / f"{number:02}.mdf" for number in range(files)]
    for number, path in enumerate(paths):
        peloton.simulate("lhcb", events=events, seed=number, output=path)
    data = bytearray(paths[4].read_bytes())
    middle = len(data) // 2
    data[middle : middle + 2000] = random.Random(1).randbytes(2000)
    paths[4].write_bytes(data)
    return paths


def kill_workers(parent: psutil.Process, parts: Path, done: threading.Event, killed: list[int]) -> None:
    """Kills a worker every 3 s, but only when a part was finished since the last one: on a slow machine none ever would be."""
    before: set[str] = set()
    while not done.wait(3):
        finished = {path.name for path in parts.glob("part-*.parquet")}
        if finished <= before:
            continue
        with contextlib.suppress(psutil.NoSuchProcess):
            workers = [child for child in parent.children() if "spawn_main" in " ".join(child.cmdline())]
            if workers:
                worker = random.choice(workers)
                worker.kill()
                killed.append(worker.pid)
                before = finished


def run(parts: Path, paths: list[Path], poison: Path | None, killed: list[int] | None) -> tuple[int, str]:
    """dask_tracks.py over all files; its exit code and what it said."""
    command = [sys.executable, str(EXAMPLE), str(parts), *map(str, paths)]
    command += ["--geometry", "nominal", "--sequence", "long"]
    variables = dict(os.environ)
    if poison is not None:
        preload = parts.parent / "poison.py"
        preload.write_text(POISON)
        variables |= {"DASK_DISTRIBUTED__WORKER__PRELOAD": str(preload), "POISON": str(poison)}
    process = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    over = threading.Event()
    if killed is not None:
        threading.Thread(target=kill_workers, args=(psutil.Process(process.pid), parts, over, killed)).start()
    out, error = process.communicate()
    over.set()
    # Dask has much to say of workers that die.
    said = [line for line in (out + error).splitlines() if line.startswith("part ") or " parts, hash_events " in line]
    return process.returncode, "\n".join(said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=24, help="at least 17")
    parser.add_argument("--events", type=int, default=200, help="of each file")
    arguments = parser.parse_args()
    folder: Path = arguments.folder.resolve()
    folder.mkdir(parents=True)
    # The manifest counts what the damage costs.
    warnings.simplefilter("ignore", peloton.PelotonWarning)
    timer = Timer()
    paths = make_files(folder, arguments.files, arguments.events)
    timer.tell(f"{len(paths)} files of {arguments.events} events")

    poison, parts = paths[16], folder / "parts"
    killed: list[int] = []
    code, said = run(parts, paths, poison, killed)
    timer.tell(f"two workers, {len(killed)} of which were killed")
    print(said)
    manifest = json.loads((parts / "_manifest.json").read_text())
    must(code == 1, "exit code 1")
    must([one["input"] for one in manifest["failed"]] == [str(poison)], f"{poison.name} alone failed")
    must(manifest["dropped"].get("bad_checksum", 0) > 0, f"the damage of {paths[4].name} is counted: {manifest['dropped']}")

    plan, one = parts / "_plan.json", folder / "one"
    numbers = [number for number in range(manifest["parts"]) if number != manifest["failed"][0]["part"]]
    for number in numbers:
        peloton.distributed.run_part(plan, number, one, sequence="long", geometry="nominal")
    timer.tell("the same parts in one process")
    names = [f"part-{number:05}.parquet" for number in numbers]
    must(sorted(path.name for path in parts.glob("*.parquet")) == names, f"{len(names)} parts are there, each once")
    must(all((parts / name).read_bytes() == (one / name).read_bytes() for name in names), "their bytes are those of one process")

    code, said = run(parts, paths, None, None)
    timer.tell("a second run")
    print(said)
    again = json.loads((parts / "_manifest.json").read_text())
    must(code == 0 and again["is_complete"] and again["failed"] == [], "all parts are there")
    must(again["runs"] == manifest["runs"] + 1, "one part was run")
    whole = peloton.run(paths, folder / "whole.parquet", sequence="long", geometry="nominal")
    timer.tell("all files in one run")
    must(again["hash_events"] == whole["hash_events"], "hash_events is that of one run")
    must(again["dropped"] == whole["dropped"], "and so is what was dropped, by reason")

    code, said = run(parts, paths, None, None)
    timer.tell("a third run")
    must(code == 0 and json.loads((parts / "_manifest.json").read_text())["runs"] == again["runs"], "nothing was run")


# Worker processes import this file again.
if __name__ == "__main__":
    main()
