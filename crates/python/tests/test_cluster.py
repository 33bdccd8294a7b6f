"""peloton.distributed on a Dask cluster of this machine: the same bytes as one process, whatever dies meanwhile."""

import itertools
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("distributed")

import dask
import psutil
from distributed import Client, LocalCluster

import peloton.distributed
from peloton import _options
from peloton.distributed import PartsFailed

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("PELOTON_PROGRAM") or str(ROOT / "target/release/peloton")
NOMINAL = {"geometry": "nominal"}


def call(*arguments):
    """What `--json -` says of a command that must succeed."""
    command = [PROGRAM, *map(str, arguments), "--quiet", "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def results(folder):
    """The bytes of all parts by their names."""
    return {path.name: path.read_bytes() for path in sorted(Path(folder).glob("part-*.parquet"))}


def reports(folder):
    """The JSON of all parts that are done, by their numbers."""
    paths = [path for path in Path(folder).glob("part-*.json") if "failed" not in path.name]
    return {report["part"]: report for report in (json.loads(path.read_text()) for path in paths)}


def wait_for(what, seconds=60):
    """Waits until `what` says yes, and gives what it said."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)
    return found


def one_process(plan, folder, **how):
    """The parts that one process makes, one after the other."""
    flags = [text for key, value in how.items() for text in (f"--{key}", value)]
    call("run", "--plan", plan, "--part", ":", "--output", folder, *flags)
    return results(folder)


def before_parts(folder, does):
    """A file that Dask loads in each worker, where this is then done before a part."""
    path = folder / "before_parts.py"
    path.write_text(
        "import os, time\n"
        "from peloton import _native\n"
        "run_part = _native.run_part\n"
        "def after_that(plan, part, *how):\n"
        f"    {does}\n"
        "    return run_part(plan, part, *how)\n"
        "def dask_setup(worker):\n"
        "    _native.run_part = after_that\n"
    )
    return str(path)


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Three files of 9, 5 and 8 raw events."""
    folder = tmp_path_factory.mktemp("files")
    names = [str(folder / name) for name in ("a.mdf", "b.mdf", "c.mdf")]
    for seed, (name, events) in enumerate(zip(names, (9, 5, 8))):
        call("simulate", "--detector", "lhcb", "--events", events, "--seed", seed, "--output", name)
    return names


@pytest.fixture(scope="module")
def client():
    """Two workers that are processes, each with one thread."""
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        yield client


@pytest.mark.parametrize("part_events", [1, 2, 7, 1000])
def test_parts_are_those_of_one_process(client, files, levels, tmp_path, part_events):
    # Each worker has another instruction set, where there are two.
    levels = {levels[0], levels[-1]}
    workers = client.scheduler_info(n_workers=-1)["workers"]
    for worker, level in zip(workers, itertools.cycle(sorted(levels))):
        client.run(os.environ.update, {"PELOTON_ISA": level}, workers=[worker])
    manifest = peloton.distributed.run(
        files, tmp_path / "cluster", client, part_events=part_events, **NOMINAL
    )
    expected = one_process(tmp_path / "cluster/_plan.json", tmp_path / "one", **NOMINAL)
    assert results(tmp_path / "cluster") == expected
    assert manifest.is_complete and manifest.parts == len(expected) == {1: 22, 2: 12, 7: 5, 1000: 3}[part_events]
    whole = call("run", *files, "--geometry", "nominal")
    assert manifest.hash_events == whole["hash_events"]
    assert [manifest.document[key] for key in ("events", "tracks")] == [whole["events"], whole["tracks"]]
    made_on = {report["level"].split()[0] for report in reports(tmp_path / "cluster").values()}
    assert made_on == levels or part_events == 1000


def test_a_worker_that_is_killed_costs_its_parts_again_and_nothing_else(client, tmp_path):
    folder = tmp_path / "parts"
    workers = list(client.run(os.getpid).values())

    def writes(worker):
        return any(Path(file.path).name.startswith(".peloton-") for file in worker.open_files())

    def kill_one_that_writes():
        def one_that_writes():
            for worker in filter(writes, map(psutil.Process, workers)):
                # It may be done by now: look again while it stands still.
                worker.suspend()
                if writes(worker):
                    return worker
                worker.resume()
            return None

        wait_for(one_that_writes).kill()

    killer = threading.Thread(target=kill_one_that_writes)
    killer.start()
    how = {"part_events": 20, "sequence": "velo"}
    manifest = peloton.distributed.run("sim:lhcb,events=160,seed=3", folder, client, **how)
    killer.join()
    assert manifest.is_complete and manifest.parts == 8
    assert manifest.runs > 8 and manifest.document["repeated"]
    assert sorted(reports(folder)) == list(range(8))
    # What the killed process left is hidden and none of the results.
    assert list(folder.glob(".peloton-*.part"))
    plan = folder / "_plan.json"
    assert results(folder) == one_process(plan, tmp_path / "one", sequence="velo")


def test_a_part_that_kills_its_workers_fails_alone(files, tmp_path):
    deadly = before_parts(tmp_path, "if part == 5: os.kill(os.getpid(), 9)")
    # The cluster is the one that `run` starts itself.
    with dask.config.set({"distributed.worker.preload": [deadly]}), pytest.raises(PartsFailed) as caught:
        peloton.distributed.run(files, tmp_path / "parts", part_events=2, **NOMINAL)
    manifest = caught.value.manifest
    assert [failed.part for failed in manifest.failed] == [5]
    assert manifest.failed[0].reason == "4 workers died while they ran it, and nothing else"
    assert "part 5" in str(caught.value) and files[1] in str(caught.value)
    assert manifest.parts_done == 11
    expected = one_process(tmp_path / "parts/_plan.json", tmp_path / "one", **NOMINAL)
    del expected["part-00005.parquet"]
    assert results(tmp_path / "parts") == expected


def test_a_part_that_fails_is_tried_again_and_named(files, tmp_path):
    tried = tmp_path / "tried"
    unlucky = before_parts(tmp_path, f"if part == 1: print('x', file=open({str(tried)!r}, 'a')); raise OSError('no luck')")
    # The example ends with exit code 1, and with 0 once the part is made. There is no program on its path.
    example = [sys.executable, str(ROOT / "crates/python/examples/dask_tracks.py"), str(tmp_path / "parts"), *files]
    example += ["--part-events", "7", "--geometry", "nominal", "--workers", "1"]

    def ended(**variables):
        environment = {**os.environ, "PATH": "/usr/bin:/bin", **variables}
        done = subprocess.run(example, env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    code, text = ended(DASK_DISTRIBUTED__WORKER__PRELOAD=unlucky)
    assert code == 1 and "no luck" in text, text
    assert len(tried.read_text().splitlines()) == 3
    failed = json.loads((tmp_path / "parts/_manifest.json").read_text())["failed"]
    assert [(one["part"], one["reason"]) for one in failed] == [(1, "no luck")]
    code, text = ended()
    assert code == 0 and "5 of 5 parts" in text, text


def test_a_client_that_is_killed_is_started_again_and_finishes_what_lacks(tmp_path):
    folder = tmp_path / "parts"
    example = [sys.executable, str(ROOT / "crates/python/examples/dask_tracks.py"), str(folder)]
    example += ["sim:lhcb,events=100,seed=3", "--part-events", "10", "--sequence", "velo"]
    slow = {**os.environ, "DASK_DISTRIBUTED__WORKER__PRELOAD": before_parts(tmp_path, "time.sleep(0.5)")}
    first = subprocess.Popen(example, env=slow, stderr=subprocess.DEVNULL)
    wait_for(lambda: len(reports(folder)) >= 2)
    # Workers see that the cluster is gone; what they run comes to its end.
    processes = psutil.Process(first.pid).children(recursive=True)
    first.send_signal(signal.SIGKILL)
    first.wait()
    psutil.wait_procs(processes, timeout=30)
    before = reports(folder)
    assert 2 <= len(before) < 10
    again = subprocess.run(example, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    after = reports(folder)
    # Those that were done are not run again, and all others are done now.
    assert sorted(after) == list(range(10))
    assert {part: after[part] for part in before} == before
    manifest = json.loads((folder / "_manifest.json").read_text())
    assert manifest["runs"] <= 12
    assert manifest["hash_events"] == call("run", "sim:lhcb,events=100,seed=3", "--sequence", "velo")["hash_events"]


LIMITED = """
import resource, sys
import peloton, peloton.distributed

# Files of 8 KiB at most.
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 13, 1 << 13))
try:
    peloton.distributed.run_part(sys.argv[1], 1, sys.argv[2], geometry="nominal")
except peloton.InputError as error:
    print(error)
"""


def test_a_file_that_may_not_grow_is_told_and_the_part_is_made_later(client, files, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    call("plan", *files, "--part-events", 7, "--output", tmp_path / "plan.json")
    limited = [sys.executable, "-c", LIMITED, tmp_path / "plan.json", folder]
    told = subprocess.run(limited, capture_output=True, text=True)
    assert "part-00001.parquet" in told.stdout and "File too large" in told.stdout, told.stdout + told.stderr
    names = sorted(path.name for path in folder.iterdir() if "begun" not in path.name)
    assert names == ["_owner.json", "part-00001.failed.json"]
    manifest = peloton.distributed.run(tmp_path / "plan.json", folder, client, **NOMINAL)
    assert manifest.is_complete and manifest.document["repeated"] == {"1": 2}


def test_the_folder_is_one_data_set(files, tmp_path):
    import awkward
    import dask.dataframe
    import polars
    import pyarrow.dataset
    import xxhash

    folder = tmp_path / "parts"
    call("plan", *files, "--part-events", 3, "--output", tmp_path / "plan.json")
    one_process(tmp_path / "plan.json", folder, **NOMINAL)
    sum_of_parts = call("manifest", folder, "--plan", tmp_path / "plan.json")
    numbers = list(range(22))
    lazily = polars.scan_parquet(folder / "*.parquet").collect()
    assert lazily["event_id"].to_list() == numbers
    table = pyarrow.dataset.dataset(sorted(map(str, folder.glob("*.parquet")))).to_table()
    assert table["event_id"].to_pylist() == numbers
    frame = dask.dataframe.read_parquet(str(folder / "*.parquet"), columns=["event_id"])
    assert sorted(frame["event_id"].compute()) == numbers
    events = awkward.from_parquet(str(folder / "*.parquet"))
    assert events["event_id"].to_list() == numbers
    assert awkward.sum(awkward.num(events["hits"], axis=1)) == sum_of_parts["tracks"]

    # hash_events as it is documented, from the files alone.
    def hash_of(event):
        hits = event["hits"]
        lengths = [len(track) for track in hits]
        ends = [sum(lengths[: count + 1]) for count in range(len(lengths))]
        words = [len(hits), *ends, *(hit for track in hits for hit in track)]
        head = event["event_id"].to_bytes(8, "little") + event["status"].to_bytes(2, "little")
        return xxhash.xxh3_64_intdigest(head + b"".join(word.to_bytes(4, "little") for word in words))

    found = sum(map(hash_of, table.to_pylist())) % 2**64
    assert f"{found:016x}" == sum_of_parts["hash_events"]


def test_results_of_another_configuration_are_no_success(client, files, tmp_path):
    folder = tmp_path / "parts"
    assert peloton.distributed.run(files, folder, client, part_events=7, **NOMINAL).is_complete
    before = results(folder)
    with pytest.raises(PartsFailed, match="no such folder") as caught:
        peloton.distributed.run(files, folder, client, part_events=7, geometry=tmp_path / "absent")
    manifest = caught.value.manifest
    assert manifest.parts_done == 0 and [failed.part for failed in manifest.failed] == list(range(5))
    # It goes through a pipe, and nothing was tried again or taken away.
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is PartsFailed and str(again) == str(caught.value) and again.manifest == manifest
    assert results(folder) == before and manifest.runs == 5
    assert peloton.distributed.run(files, folder, client, part_events=7, **NOMINAL).runs == 5


def test_parts_of_another_job_are_refused_before_anything_is_written(client, files, tmp_path):
    folder = tmp_path / "parts"
    assert peloton.distributed.run(files, folder, client, part_events=7, **NOMINAL).is_complete
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for inputs, how in ((files[:2], {}), (files, {"part_events": 3}), (files, {"part_events": 7, "strict": True})):
        with pytest.raises(peloton.ConfigError, match="parts of another job"):
            peloton.distributed.run(inputs, folder, client, **how, **NOMINAL)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    with pytest.raises(peloton.ConfigError, match="of other options"):
        peloton.distributed.run_part(folder / "_plan.json", 0, folder, strict=True, **NOMINAL)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    forced = peloton.distributed.run(files, folder, client, part_events=7, strict=True, force=True, **NOMINAL)
    assert forced.is_complete and forced.runs == 10


def test_a_flipped_byte_is_found(client, files, tmp_path):
    folder = tmp_path / "parts"
    manifest = peloton.distributed.run(files, folder, client, part_events=7, **NOMINAL)
    assert [len(table) for table in peloton.read(folder)] == [7, 2, 5, 7, 1]
    assert sum(len(table) for table in peloton.read_parts(folder)) == manifest.events == 22
    assert manifest.tracks == manifest.document["tracks"] > 0 and manifest.dropped == {}
    part = folder / "part-00002.parquet"
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    for place in (folder, part):
        with pytest.raises(peloton.FormatError, match=r"part-00002.parquet: it has changed since it was written"):
            list(peloton.read(place))
    with pytest.raises(PartsFailed, match="part-00002.parquet: it has changed since it was written"):
        peloton.distributed.run(files, folder, client, part_events=7, **NOMINAL)
    # By their sizes alone all parts are there.
    assert peloton.distributed.run(files, folder, client, part_events=7, verify=False, **NOMINAL).is_complete
    part.unlink()
    assert peloton.distributed.run(files, folder, client, part_events=7, **NOMINAL).is_complete
    with pytest.raises(peloton.InputError, match="no parts"):
        peloton.read_parts(tmp_path)


def test_lost_events_are_warned_of_once_and_counted(client, tmp_path):
    path = tmp_path / "a.ndjson"
    call("simulate", "--events", 6, "--output", path)
    lines = path.read_text().splitlines()
    lines[1], lines[4] = lines[1][:99], lines[4][:99]
    path.write_text("\n".join(lines) + "\n")
    with pytest.warns(peloton.PelotonWarning) as caught:
        manifest = peloton.distributed.run(path, tmp_path / "parts", client)
    assert [str(one.message) for one in caught] == ["2 of 6 events could not be reconstructed: corrupt 2"]
    assert (manifest.events, manifest.dropped) == (6, {"corrupt": 2})
    for max_bad, is_enough in ((2, True), ("40%", True), (1, False), ("30%", False)):
        job = {"max_bad": max_bad, "on_error": "skip"}
        with pytest.warns(peloton.PelotonWarning):
            manifest = peloton.distributed.run(path, tmp_path / "parts", client, **job)
        assert (manifest.document["failure"] is None) == is_enough, max_bad


def test_a_part_that_was_done_when_its_workers_died_is_done(files, tmp_path):
    folder = tmp_path / "parts"
    # Dies behind part 1, and does part 0 in peace.
    deadly = before_parts(
        tmp_path, "if part == 1: run_part(plan, part, *how); os.kill(os.getpid(), 9)"
    )
    with dask.config.set({"distributed.worker.preload": [deadly]}):
        manifest = peloton.distributed.run(files, folder, part_events=7, **NOMINAL)
    assert manifest.is_complete and manifest.failed == []


def test_a_full_disk_leaves_the_reasons_in_the_exception(client, files, tmp_path, monkeypatch):
    def no_room(*_, **__):
        raise peloton.InputError("_manifest.json: No space left on device")

    monkeypatch.setattr(peloton.distributed._native, "add_parts", no_room)
    monkeypatch.setattr(Path, "write_text", no_room)
    with pytest.raises(peloton.InputError, match="No space") as caught:
        peloton.distributed.run(files, tmp_path / "parts", client, part_events=1000, geometry=tmp_path / "absent")
    assert [note.split(":")[0] for note in caught.value.__notes__] == ["part 0", "part 1", "part 2"]
    assert peloton.distributed._words(AssertionError()) == "AssertionError()"


def test_names_of_folders_are_those_of_the_caller(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # The built-in detector, whatever folders there are.
    (tmp_path / "nominal").mkdir()
    for given, expected in (("nominal", "nominal"), (Path("a/b"), str(tmp_path / "a/b")), ("./nominal", str(tmp_path / "nominal"))):
        assert peloton.distributed._request(geometry=given)["geometry"] == expected
    config = {"sequence": "timepix", "timepix": {"calibration": "energy", "disorder_us": 5.0}}
    whole = {"sequence": "timepix", "timepix": {"calibration": str(tmp_path / "energy"), "disorder_us": 5.0}}
    for given in (config, _options.toml(config)):
        assert tomllib.loads(peloton.distributed._request(config=given)["config"]) == whole
    for text in ("", "a = b = c\n", "timepix = 3\n"):
        assert peloton.distributed._request(config=text)["config"] == text


def test_wrong_arguments_are_told(tmp_path, files):
    # Before anything is made.
    absent = tmp_path / "absent"
    for wrong in ({"preset": "bset"}, {"sequence": "lnog"}, {"config": "colour = 1"}, {"mask_hot": 3}, {"velo_banks": "x"}):
        with pytest.raises(peloton.ConfigError):
            peloton.distributed.run(files, absent, **wrong)
    assert not absent.exists()
    # What a plan says.
    call("plan", *files, "--output", tmp_path / "plan.json")
    for settled in ({"format": "mdf"}, {"part_events": 3}, {"events": (0, 3)}):
        with pytest.raises(TypeError, match=next(iter(settled))):
            peloton.distributed.run(tmp_path / "plan.json", absent, **settled)
    for settled in ({"format": "mdf"}, {"events": (0, 3)}, {"max_bad": 3}):
        with pytest.raises(TypeError, match=next(iter(settled))):
            peloton.distributed.run_part(tmp_path / "plan.json", 0, absent, **settled)
    assert not absent.exists()
    with pytest.raises(ValueError, match="raise"):
        peloton.distributed.run(files, tmp_path, on_error="ignore")
    with pytest.raises(TypeError, match="threads"):
        peloton.distributed.run(files, tmp_path, threads=3)
    with pytest.raises(TypeError, match="colour"):
        peloton.distributed.run(files, tmp_path, colour="red")
    with pytest.raises(peloton.ConfigError, match="part_events|part-events"):
        peloton.distributed.run(files, tmp_path, part_events=0)
    with pytest.raises(peloton.InputError, match="absent.mdf"):
        peloton.distributed.run("absent.mdf", tmp_path)


def test_the_readme(tmp_path):
    pytest.importorskip("awkward")
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    script = tmp_path / "readme.py"
    script.write_text(block)
    # The package alone is enough: no program is on the path.
    environment = {**os.environ, "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(results(tmp_path / "tracks")) == 4
