"""Every reader of Arrow sees the values of every kind of results, and files give them back."""

import json

import awkward as ak
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from inputs import SMALL

import peloton


@pytest.fixture(scope="module", params=list(SMALL))
def results(request):
    return peloton.run(SMALL[request.param], sequence=request.param)


def test_readers_agree(results):
    rows = pa.table(results).to_pylist()
    assert rows == pl.DataFrame(results).to_dicts()
    frame = pd.DataFrame.from_arrow(results)
    assert list(frame.columns) == [field.name for field in results.fields]
    for name in frame.columns:
        assert _plain(frame[name].tolist()) == _plain([row[name] for row in rows])
    assert len(results.to_pandas()) == len(rows) == len(results.to_polars())
    duckdb = pytest.importorskip("duckdb")
    events = results.to_arrow()
    first = next(field.name for field in results.fields if field.depth == 1)
    expected = sum(len(row[first]) for row in rows)
    assert duckdb.sql(f"select sum(len({first})) from events").fetchall() == [(expected,)]


def _plain(values):
    if isinstance(values, list | tuple | np.ndarray):
        return [_plain(value) for value in values]
    return None if values is pd.NA or values is None or values != values else values


def test_rows_are_those_of_arrow(results):
    rows = pa.table(results).to_pylist()
    for row in (0, len(rows) - 1, -1):
        found = results[row]
        assert _plain([found[name] for name in rows[row]]) == _plain(list(rows[row].values()))
    with pytest.raises(IndexError):
        results[len(rows)]
    with pytest.raises(peloton.ColumnError, match="choose one of"):
        results.column("colour")


@pytest.mark.parametrize(
    ("sequence", "old", "new"),
    [
        ("velo", "beam_cov_xt", "beam_cov_xtx"),
        ("velo", "end_cov_tt", "end_cov_txtx"),
        ("velo-ut", "q_over_p", "qop"),
        ("scifi", "cov_yu", "cov_yty"),
        ("long", "scifi_cov_uu", "scifi_cov_tyty"),
    ],
)
def test_an_old_name_of_a_column_leads_to_the_new_one(sequence, old, new):
    results = peloton.run(SMALL[sequence], sequence=sequence)
    assert new in [field.name for field in results.fields]
    with pytest.raises(peloton.ColumnError, match=f"no column `{old}`: write `{new}`"):
        results.column(old)


def test_a_number_that_some_rows_lack_is_there_in_the_others(tmp_path):
    path = tmp_path / "a.mdf"
    peloton.simulate("lhcb", events=3, seed=1, output=path)
    data, begin, begins = bytearray(path.read_bytes()), 0, []
    while begin < len(data):
        begins.append(begin)
        begin += int.from_bytes(data[begin : begin + 4], "little")
    # The second event loses its numbers: its first bank is ODIN's no longer, the header of the record has no checksum and no
    # number of the run.
    second = begins[1]
    assert data[second + 52] == 16
    data[second + 52] = 200
    data[second + 12 : second + 16] = data[second + 36 : second + 40] = bytes(4)
    path.write_bytes(data)
    results = peloton.run(path, sequence="velo", geometry="nominal")
    numbers = [(results[row]["run_number"], results[row]["event_number"]) for row in range(3)]
    assert numbers == [(1, 0), (None, None), (1, 2)]
    assert results[-2]["run_number"] is None and results[-1]["run_number"] == 1
    with pytest.raises(peloton.ColumnError, match="run_number: values are missing"):
        results.column("run_number")


def test_awkward_records_hold_all_columns(results):
    array = results.to_awkward()
    levels = list(results.counts)
    item = levels[1] + "s"
    assert len(array) == len(results) and ak.count(array[item][array[item].fields[0]], axis=1).tolist()
    for field in results.fields:
        if field.depth == 0:
            assert array[field.name].tolist() == pa.table(results)[field.name].to_pylist()
    assert array.attrs["units"] == {field.name: field.unit for field in results.fields}
    if "chi2" in array[item].fields:
        assert np.array_equal(ak.to_numpy(ak.flatten(array[item].chi2)), results.column("chi2"), equal_nan=True)


def test_awkward_states_and_vectors():
    tracks = peloton.run(SMALL["velo"]).to_awkward().tracks
    assert tracks.beam.fields[:3] == ["x", "y", "z"] and {"tx", "ty", "cov_xx"} <= set(tracks.beam.fields)
    assert tracks.end.tx.type == tracks.beam.tx.type
    cylinder = peloton.run(SMALL["cylinder"])
    momenta = cylinder.to_awkward().tracks
    assert np.allclose(ak.to_numpy(ak.flatten(momenta.pt)), 1 / np.abs(cylinder.column("qpt")))
    theta = np.arctan2(ak.to_numpy(ak.flatten(momenta.pt)), ak.to_numpy(ak.flatten(momenta.pz)))
    assert np.allclose(theta, cylinder.column("theta"), atol=1e-5)


def test_values_are_those_of_the_ndjson(tmp_path):
    for sequence in ("velo", "long", "ut"):
        path = tmp_path / f"{sequence}.ndjson"
        peloton.run(SMALL[sequence], path, sequence=sequence)
        results = peloton.run(SMALL[sequence], sequence=sequence)
        for line, row in zip(path.read_text().splitlines(), range(len(results)), strict=True):
            told, found = json.loads(line), results[row]
            name, column = ("id", "id") if sequence == "ut" else ("tracks", "hits")
            assert told[name] == found[column]


def test_parquet_and_rntuple_come_back(results, tmp_path):
    results.write(tmp_path / "a.parquet")
    assert pq.read_table(tmp_path / "a.parquet").to_pylist() == pa.table(results).to_pylist()
    uproot = pytest.importorskip("uproot")
    results.write(tmp_path / "a.root")
    with uproot.open(tmp_path / "a.root") as file:
        name = next(iter(results.counts)) + "s"
        assert file.classname_of(name) == "ROOT::RNTuple"
        back = file[name].arrays()
    for field in results.fields:
        if pa.table(results)[field.name].null_count == 0:
            assert back[field.name].tolist() == pa.table(results)[field.name].to_pylist()


def test_missing_integers_in_root_files_are_the_largest_of_their_type():
    from peloton.root import _filled

    for kind, bits in ((pa.uint32(), 32), (pa.int32(), 31), (pa.int64(), 63)):
        assert _filled(pa.chunked_array([[1, None]], kind)).to_pylist() == [1, 2**bits - 1]


def test_hdf5_as_pymepix_reads_it(tmp_path):
    h5py = pytest.importorskip("h5py")
    clusters = peloton.run(SMALL["timepix"])
    clusters.to_hdf5(tmp_path / "a.hdf5")
    # The snippet of pymepix' documentation.
    with h5py.File(tmp_path / "a.hdf5") as f:
        nr = f["centroided/trigger nr"][:]
        x = f["centroided/x"][:]
        y = f["centroided/y"][:]
        tof = f["centroided/tof"][:]
        tot_avg = f["centroided/tot avg"][:]
        tot_max = f["centroided/tot max"][:]
        sizes = f["centroided/clustersize"][:]
        raw = f["raw/x"][:]
    assert len(nr) == len(x) == len(clusters) and np.array_equal(y, clusters.column("centroid_y"))
    assert np.array_equal(tof, clusters.column("time") / 1e9)
    assert np.array_equal(tot_max, clusters.column("height").astype(int) * 25)
    assert np.allclose(tot_avg * sizes, clusters.column("tot").astype(float) * 25)
    assert np.array_equal(raw, clusters.column("hit_x"))
    with pytest.raises(peloton.FormatError, match="no clusters"):
        from peloton import hdf5

        hdf5.write(peloton.run(SMALL["velo"]), tmp_path / "b.hdf5")


def test_triggers_in_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    from peloton import hdf5

    lists = pa.list_(pa.uint16())
    table = pa.table(
        {
            "time": pa.array([10.0, 2000.0, 3050.0]),
            "centroid_x": pa.array([1.0, 5.5, 7.0], pa.float32()),
            "centroid_y": pa.array([2.0, 6.0, 8.0], pa.float32()),
            "hit_x": pa.array([[1], [5, 6], [7]], lists),
            "hit_y": pa.array([[2], [6, 6], [8]], lists),
            "hit_tot": pa.array([[3], [4, 8], [2]], lists),
            "hit_time": pa.array([[10.0], [2000.0, 2025.0], [3050.0]]),
            "trigger": pa.array([None, 1, 2], pa.uint16()),
            "hit_since_trigger": pa.array([None, [500.0, 525.0], [50.0]], pa.list_(pa.float64())),
        }
    )
    hdf5.write(table, tmp_path / "a.hdf5")
    hdf5.write(table.slice(0, 1), tmp_path / "none.hdf5")
    with h5py.File(tmp_path / "none.hdf5") as f:
        assert f["centroided/x"].shape == f["raw/x"].shape == (0,)
    with h5py.File(tmp_path / "a.hdf5") as f:
        assert f["centroided/trigger nr"][:].tolist() == [1, 2]
        assert np.allclose(f["centroided/tof"][:], [500e-9, 50e-9])
        assert f["centroided/tot avg"][:].tolist() == [150, 50] and f["centroided/tot max"][:].tolist() == [200, 50]
        assert f["raw/trigger nr"][:].tolist() == [1, 1, 2] and f["raw/x"][:].tolist() == [5, 6, 7]
        assert np.allclose(f["raw/tof"][:], [500e-9, 525e-9, 50e-9])
        assert f["triggers/nr"][:].tolist() == [1, 2]
        assert np.allclose(f["triggers/time"][:], [1500e-9, 3000e-9])
