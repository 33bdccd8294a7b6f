"""Jobs give what the command line gives, and say what is wrong with the words of its errors."""

import json
import pickle
import subprocess
import warnings

import numpy as np
import pyarrow.parquet as pq
import pytest
from inputs import SMALL

import peloton

EVENTS = "sim:velo,events=20,seed=1"


def test_files_are_those_of_the_command_line(tmp_path, program):
    for name in ("tracks.parquet", "tracks.ndjson"):
        (tmp_path / "a").mkdir(exist_ok=True)
        summary = peloton.run(EVENTS, tmp_path / "a" / name)
        subprocess.run([program, "run", "--quiet", EVENTS, "--output", tmp_path / name], check=True)
        peloton.run(EVENTS).write(tmp_path / f"b-{name}")
        if name.endswith("ndjson"):
            expected = (tmp_path / name).read_bytes()
            assert (tmp_path / "a" / name).read_bytes() == (tmp_path / f"b-{name}").read_bytes() == expected
        else:
            # All but the command that the file says.
            paths = [tmp_path / name, tmp_path / "a" / name, tmp_path / f"b-{name}"]
            tables = [pq.read_table(path) for path in paths]
            assert tables[0].equals(tables[1]) and tables[0].equals(tables[2])
            metadata = [pq.read_metadata(path).metadata for path in paths]
            hashes = [one[b"peloton.output_hash"].decode() for one in metadata]
            assert hashes == [summary["output_hash"]] * 3
    assert summary.json["events"] == 20
    assert "tracks" in repr(summary) and "<table>" in summary._repr_html_()


def test_check_is_that_of_the_command_line(program, tmp_path):
    report = peloton.check(EVENTS, truth_output=tmp_path / "truth.parquet")
    command = [program, "check", EVENTS, "--quiet", "--json", "-"]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    for key in ("categories", "ghosts", "tracks", "tables", "output_hash"):
        assert report.json[key] == told[key]
    assert "ghosts" in report.text and report.is_right
    assert pq.read_table(tmp_path / "truth.tracks.parquet").num_rows == told["tracks"]
    bins = report.table("pt", "02_long")["bins"]
    rows = report.tables.to_pylist()
    assert bins == [
        {key: row[key] for key in bins[0]} for row in rows if (row["variable"], row["category"]) == ("pt", "02_long")
    ]
    passed, total = report.to_hist("pt", "02_long")
    finite = [one for one in bins if one["high"] is not None]
    assert passed.sum() == sum(one["reconstructed"] for one in finite)
    assert total.sum() == sum(one["reconstructible"] for one in finite)
    with pytest.raises(peloton.ConfigError, match="choose from"):
        report.table("colour")


def test_figures_show_the_numbers():
    import matplotlib

    matplotlib.use("Agg")
    report = peloton.check(EVENTS)
    axes = report.plot("pt", "01_velo")
    drawn = axes.containers[0].lines[0].get_ydata()
    bins = report.table("pt", "01_velo")["bins"]
    assert list(drawn) == [one["efficiency"] for one in bins if one["reconstructible"] and one["high"] is not None]
    profile = peloton.tune(EVENTS, seconds=0.02)
    assert profile.json["measured"] and profile.toml.startswith("sequence")
    axes = profile.plot()
    times = np.ma.filled(axes.images[0].get_array(), np.nan)
    assert np.isclose(np.nanmin(times), min(one["ns_per_event"] for one in profile.json["measured"]) / 1000)
    assert peloton.Engine(**profile.best).info["isa"] == profile.json["isa"]


def test_throughput_and_compare():
    assert peloton.throughput(EVENTS, passes=3, threads=1)["repetitions"] == 3
    assert peloton.compare(EVENTS, "isa=scalar", "threads=2").equal
    assert not peloton.compare(EVENTS, "preset=best", "preset=paper").equal


def test_simulated_events_are_those_of_files(tmp_path):
    for detector, name in (("velo", "a.ndjson"), ("lhcb", "a.mdf"), ("cylinder,tracks=50", "a.bin")):
        made = peloton.simulate(detector, events=3, seed=7, output=tmp_path / name)
        assert len(made) == 3
        if detector == "velo":
            (read,) = peloton.read(tmp_path / name)
            assert all(np.array_equal(read.hits()[key], values) for key, values in made.hits().items())
    banks = peloton.simulate("lhcb", events=2, seed=7).banks(1)
    assert {kind for kind, *_ in banks} >= {64, 66} and all(isinstance(payload, bytes) for *_, payload in banks)
    with pytest.raises(IndexError):
        peloton.simulate("lhcb", events=2, seed=7).banks(2)


def test_truth():
    import polars as pl

    events = peloton.simulate("velo", events=3, seed=7)
    truth = pl.DataFrame(events.truth())
    assert truth["event_id"].unique().to_list() == [0, 1, 2]
    ids = set(events.hits()["id"].tolist())
    assert set(truth["hits"].explode().drop_nulls().to_list()) <= ids
    assert (truth["pt"] <= truth["p"] * 1.000001).all()
    assert next(peloton.read("sim:velo,events=1,seed=1")).truth() is None


def test_clusters_are_those_of_a_run(tmp_path):
    source = SMALL["timepix"]
    whole = peloton.run(source)
    with peloton.clusters(source) as stream:
        blocks = list(stream)
    assert sum(map(len, blocks)) == len(whole)
    for name in ("centroid_x", "hit_time"):
        joined = np.concatenate([block.column(name) for block in blocks])
        assert np.array_equal(joined, whole.column(name))
    assert stream.summary["output_hash"] == whole.hash.output_hash
    path = tmp_path / "hits.tpx3"
    program_input = "timepix,preset=am241"
    from peloton import _native

    _native.simulate(program_input, 20000, 4, None, str(path))
    expected = peloton.run(path).hash
    data = path.read_bytes()
    for size in (1009, 1_000_003):
        pieces = (data[first : first + size] for first in range(0, len(data), size))
        stream = peloton.clusters(pieces, format="tpx3")
        centroids = np.concatenate([block.column("centroid_x") for block in stream])
        assert stream.summary["output_hash"] == expected.output_hash
        assert len(centroids) == stream.summary["events"]
    assert sum(map(len, peloton.clusters(data, format="tpx3"))) == len(centroids)
    tight = peloton.clusters(source, definition="static", delta_ns=50.0)
    assert sum(map(len, tight)) > len(whole)


def test_progress_is_told():
    told = []
    peloton.run("sim:velo,events=600,seed=1", progress=lambda *words: told.append(words))
    assert told[-1] == ("reconstructing", 600, 600)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)

    def failing(*_words):
        raise LookupError("stop")

    with pytest.raises(LookupError):
        peloton.run("sim:velo,events=100000,seed=1", progress=failing)


def test_errors_are_of_their_kind(tmp_path):
    for call, kind, words in [
        (lambda: peloton.run("/nonexistent.mdf"), peloton.InputError, "nonexistent"),
        (lambda: peloton.run(EVENTS, preset="worst"), peloton.ConfigError, "best"),
        (lambda: peloton.run(EVENTS, isa="sse"), peloton.ConfigError, "avx2"),
        (lambda: peloton.run(EVENTS, config={"velo": {"no_such_key": 1}}), peloton.ConfigError, "no_such_key"),
        (lambda: peloton.run(EVENTS, tmp_path / "x.csv"), peloton.ConfigError, "parquet"),
        (lambda: peloton.run(EVENTS, threads=0), peloton.ConfigError, "threads"),
        (lambda: peloton.run(EVENTS, threads=-1), peloton.ConfigError, "threads"),
        (lambda: peloton.run(EVENTS, gang=3), peloton.Error, "gang"),
        (lambda: peloton.Engine("timepix"), peloton.UnsupportedError, "timepix"),
        (lambda: peloton.Engine("long"), peloton.ConfigError, "geometry"),
        (lambda: peloton.run(EVENTS, events=slice(30, 40)), peloton.FormatError, "no event"),
        (lambda: peloton.check("sim:timepix,hits=100,seed=1", losses=True), peloton.ConfigError, "losses"),
        (lambda: list(peloton.read("sim:timepix,hits=100,seed=1")), peloton.UnsupportedError, "timepix"),
    ]:
        with pytest.raises(kind, match=words):
            call()
    assert issubclass(peloton.ConfigError, ValueError) and issubclass(peloton.InputError, OSError)
    assert issubclass(peloton.InternalError, RuntimeError)
    with pytest.raises(TypeError, match="colour"):
        peloton.run(EVENTS, colour="red")


def test_lost_events_are_warned_of_once(tmp_path):
    lines = peloton.simulate("velo", events=3, seed=1, output=tmp_path / "a.ndjson")
    text = (tmp_path / "a.ndjson").read_text().splitlines()
    (tmp_path / "b.ndjson").write_text("\n".join([text[0], text[1][: len(text[1]) // 2], text[2]]) + "\n")
    with pytest.warns(peloton.PelotonWarning) as caught:
        results = peloton.run(tmp_path / "b.ndjson")
    assert len(caught) == 1 and len(results) == len(lines)
    assert results.dropped == {"corrupt": 1} and results.status.tolist() == [0, 6, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", peloton.PelotonWarning)
        peloton.run(tmp_path / "b.ndjson")
    (tmp_path / "c.ndjson").write_text("{}\n")
    with pytest.raises(peloton.FormatError, match="no event") as error, warnings.catch_warnings():
        warnings.simplefilter("ignore", peloton.PelotonWarning)
        peloton.run(tmp_path / "c.ndjson")
    assert len(error.value.results) == 1


def test_configurations():
    text = peloton.Engine(threads=1, preset="paper").config
    assert peloton.Engine(config=text).info["preset"] == "paper"
    engine = peloton.Engine(config={"preset": "paper", "velo": {"fit": {}}}, threads=1)
    again = pickle.loads(pickle.dumps(engine))
    assert (again.config, repr(again)) == (engine.config, repr(engine))
    events = peloton.simulate("velo", events=3, seed=1)
    assert again.run(events).hash == engine.run(events).hash


def test_clusters_fail_where_runs_fail(tmp_path):
    path = tmp_path / "nothing.tpx3"
    path.write_bytes(bytes(800))
    for whole in (peloton.run, lambda source: list(peloton.clusters(source))):
        with pytest.raises(peloton.FormatError):
            whole(path)


def test_events_without_some_banks_are_partial(tmp_path):
    file = tmp_path / "a.mdf"
    peloton.simulate("lhcb", events=2, seed=7, output=file)
    content = bytearray(file.read_bytes())
    # The first bank of the SciFi, in a record without checksum, is a fault of the readout now.
    place = content.index(b"\xcb\xcb")
    while content[place + 4] != 64:
        place = content.index(b"\xcb\xcb", place + 2)
    content[place + 4] = 95
    content[12:16] = bytes(4)
    file.write_bytes(content)
    options = {"sequence": "scifi", "geometry": "nominal"}
    with pytest.warns(peloton.PelotonWarning, match="could not be reconstructed"):
        lost = peloton.run(file, **options)
    assert lost.status.tolist() == [8, 0] and lost.dropped == {"daq_error": 1}
    with pytest.warns(peloton.PelotonWarning, match="partial"):
        kept = peloton.run(file, bad_banks="bank", **options)
    assert kept.status.tolist() == [17, 0] and kept.dropped == {} and kept.starts(0)[1] > 0
    engine = peloton.Engine("scifi", geometry="nominal", config={"bad_banks": "bank"})
    (events,) = peloton.read(file, sequence="scifi", geometry="nominal")
    assert engine.run(events).hash == kept.hash
    with pytest.raises(peloton.ConfigError, match="choose one of event, bank"):
        peloton.run(file, bad_banks="none", **options)


def test_the_nominal_geometry_is_for_simulated_events(tmp_path):
    file = tmp_path / "a.mdf"
    peloton.simulate("lhcb", events=2, seed=7, output=file)
    content = file.read_bytes()
    hashes = peloton.run(file, sequence="ut", geometry="nominal").hash
    # Another payload in the bank that says so, in records without checksums.
    content = bytearray(content.replace(b"peloton nominal detector", b"peloton another detector"))
    size = int.from_bytes(content[:4], "little")
    content[12:16] = content[size + 12 : size + 16] = bytes(4)
    file.write_bytes(content)
    with pytest.raises(peloton.ConfigError, match="nominal-forced"):
        peloton.run(file, sequence="ut", geometry="nominal")
    assert peloton.run(file, sequence="ut", geometry="nominal-forced").hash == hashes
    (events,) = peloton.read(file, sequence="ut", geometry="nominal-forced")
    with pytest.raises(peloton.ConfigError, match="nominal-forced"):
        peloton.Engine("ut", geometry="nominal").run(events)
    assert peloton.Engine("ut", geometry="nominal-forced").run(events).hash == hashes
