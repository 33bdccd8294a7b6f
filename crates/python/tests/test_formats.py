"""Files of every sequence, Parquet by the program and Arrow by this package, read by pyarrow, polars, duckdb and awkward: the
same values, and those of the NDJSON.
"""

import json

import awkward as ak
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from inputs import SMALL

import peloton

duckdb = pytest.importorskip("duckdb")

PARQUET = {
    "pyarrow": lambda path: pq.read_table(path).to_pylist(),
    "polars": lambda path: pl.read_parquet(path).to_dicts(),
    "duckdb": lambda path: _fetched(duckdb.read_parquet(str(path))),
    "awkward": lambda path: ak.from_parquet(path).to_list(),
}

ARROW = {
    "pyarrow": lambda path: pa.ipc.open_file(path).read_all().to_pylist(),
    "polars": lambda path: pl.read_ipc(path).to_dicts(),
    # Without extensions duckdb reads Arrow where pyarrow has opened it.
    "duckdb": lambda path: _fetched(duckdb.from_arrow(pa.ipc.open_file(path).read_all())),
    "awkward": lambda path: ak.from_feather(path).to_list(),
}


def _fetched(relation):
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def _same(left, right):
    """Whether values are equal; what is no number equals itself."""
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return left == right or (left != left and right != right)


@pytest.fixture(scope="module", params=list(SMALL))
def files(request, summary, tmp_path_factory):
    """The sequence, its Parquet and NDJSON as the program writes them, and its results as an Arrow file."""
    folder = tmp_path_factory.mktemp(request.param)
    flags = [SMALL[request.param], "--sequence", request.param, "--output"]
    for name in ("a.parquet", "a.ndjson"):
        summary(*flags, str(folder / name))
    results = pa.table(peloton.run(SMALL[request.param], sequence=request.param))
    with pa.ipc.new_file(folder / "a.arrow", results.schema) as file:
        file.write_table(results)
    return request.param, folder


@pytest.mark.parametrize("reader", PARQUET)
def test_parquet(files, reader):
    sequence, folder = files
    rows = PARQUET[reader](folder / "a.parquet")
    assert _same(rows, PARQUET["pyarrow"](folder / "a.parquet"))
    # What the results in memory have is there with the same values, and with what is told of each column.
    table, memory = pq.read_table(folder / "a.parquet"), pa.ipc.open_file(folder / "a.arrow").read_all()
    for field in memory.schema:
        assert _same([row[field.name] for row in rows], memory[field.name].to_pylist()), field.name
        found = table.schema.field(field.name)
        assert (found.type, found.metadata) == (field.type, field.metadata) and b"unit" in found.metadata
    _is_that_of_the_ndjson(sequence, folder, rows, table.schema)


@pytest.mark.parametrize("reader", ARROW)
def test_arrow(files, reader):
    sequence, folder = files
    rows = ARROW[reader](folder / "a.arrow")
    schema = pa.ipc.open_file(folder / "a.arrow").schema
    assert _same(rows, ARROW["pyarrow"](folder / "a.arrow"))
    _is_that_of_the_ndjson(sequence, folder, rows, schema)


def _is_that_of_the_ndjson(sequence, folder, rows, schema):
    lines = [json.loads(line) for line in (folder / "a.ndjson").read_text().splitlines()]
    assert len(lines) == len(rows) > 0
    for line, row in zip(lines, rows, strict=True):
        expected = _cluster(row) if sequence == "timepix" else _event(row, schema)
        # The file of a job says more of clusters than memory does: their input, chips and energies.
        missing = line.keys() - expected.keys()
        assert missing <= ({"input", "hit_chip", "hit_energy_keV"} if "input" not in row else set()), missing
        for key, value in expected.items():
            assert _same(_single(line[key], value), value), (key, line["event_id"] if "event_id" in line else None)


def _single(told, value):
    """What the text says in single precision, where the value is of single precision: text has no more digits than needed."""
    if isinstance(value, list):
        return [_single(one, of) for one, of in zip(told, value, strict=True)]
    if isinstance(value, float) and value == float(np.float32(value)):
        return float(np.float32(told))
    return told


def _event(row, schema):
    """An event as NDJSON has it."""
    (*_, depth) = sorted(map(_depth, schema.types))
    line = {key: row[key] for key in ("event_id", "run_number", "event_number")}
    line["status"] = "ok" if row["status"] == 0 else "not ok"
    if any(field.name == "hits" for field in schema):
        assert depth == 2
        return line | {"tracks": row["hits"]}
    names = [field.name for field in schema if _depth(field.type) == 1]
    # Where the groups of hits begin has a name that says which groups these are.
    starts = {name for name in names if name.endswith("_start")}
    assert len(starts) == 1 and depth == 1
    return line | {"start" if name in starts else name: row[name] for name in names}


def _depth(kind):
    return 1 + _depth(kind.value_type) if pa.types.is_list(kind) else 0


def _cluster(row):
    """A cluster as NDJSON has it."""
    units = {"time": "time_ns", "duration": "duration_ns", "energy": "energy_keV", "hit_energy": "hit_energy_keV"}
    edges = ["x_min", "y_min", "x_max", "y_max"]
    parts = ["hit_x", "hit_y", "hit_tot", "hit_time"]
    hits = [[*hit, time - row["time"]] for *hit, time in zip(*(row[name] for name in parts), strict=True)]
    rest = {units.get(name, name): value for name, value in row.items() if name not in {*edges, *parts}}
    return rest | {"size": len(hits), "hits": hits, "bounds": [row[name] for name in edges]}
