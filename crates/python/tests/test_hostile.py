"""Columns that nobody should give: a typed error that names the column, never a wrong answer and never a crash."""

import awkward as ak
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import peloton

NAMES = ("x", "y", "z", "id", "module_start")


@pytest.fixture(scope="module")
def engine():
    return peloton.Engine(threads=1)


@pytest.fixture(scope="module")
def hits():
    return {name: np.array(values) for name, values in peloton.simulate("velo", events=4, seed=1).hits().items()}


def holders(values):
    """The same values as others hold them."""
    frozen = values.copy()
    frozen.flags.writeable = False
    return [
        values,
        frozen,
        memoryview(values),
        pa.array(values),
        pa.chunked_array([pa.array(values)]),
        pl.Series(values),
        ak.Array(values),
        pa.array(values).slice(0),
    ]


@pytest.mark.parametrize("name", NAMES)
def test_whatever_holds_a_column(engine, hits, name):
    expected = engine.run(**hits).hash
    for held in holders(hits[name]):
        assert engine.run(**hits | {name: held}).hash == expected, type(held)
    import pandas as pd

    assert engine.run(**hits | {name: pd.Series(hits[name])}).hash == expected


@pytest.mark.parametrize("name", NAMES)
def test_wrong_columns_are_named(engine, hits, name):
    good = hits[name]
    other = np.float64 if good.dtype == np.float32 else np.int64
    wrong = {
        "another type": good.astype(other),
        "whole numbers": good.astype(np.int32) if good.dtype == np.float32 else good.astype(np.float32),
        "swapped bytes": good.astype(good.dtype.newbyteorder(">")),
        "strided": np.repeat(good, 2)[::2],
        "backward": good[::-1][: len(good)],
        "two dimensions": good.reshape(1, -1),
        "unaligned": np.frombuffer(b"\0" + good.tobytes(), good.dtype, len(good), 1),
        "too few": good[:-1],
        "too many": np.append(good, good[-1:]),
        "empty": good[:0],
        "objects": good.astype(object),
        "a list": good.tolist(),
        "text": "abc",
        "a number": 1.0,
        "masked": np.ma.masked_array(good, mask=False),
        "missing values": pa.array([None, *good[1:].tolist()], pa.from_numpy_dtype(good.dtype)),
        "chunks": pa.chunked_array([pa.array(good[:5]), pa.array(good[5:])]),
        "chunks of polars": pl.concat([pl.Series(good[:5]), pl.Series(good[5:])], rechunk=False),
        "nested": ak.Array([[1.0], []]),
        "options": ak.Array([None, *good[1:].tolist()]),
        "jagged arrow": pa.array([[1.0]]),
        "booleans": good.astype(bool),
        "complex": good.astype(np.complex64),
    }
    for what, values in wrong.items():
        with pytest.raises(peloton.ColumnError, match=name) as error:
            engine.run(**hits | {name: values})
        assert isinstance(error.value, ValueError), what


def test_missing_and_surplus_arguments(engine, hits):
    with pytest.raises(TypeError, match="module_start"):
        engine.run(x=hits["x"], y=hits["y"], z=hits["z"])
    with pytest.raises(TypeError, match="not both"):
        engine.run(peloton.simulate("velo", events=1), x=hits["x"])
    with pytest.raises(TypeError, match="EventBatch"):
        engine.run([1, 2, 3])


def test_offsets_that_do_not_belong(engine, hits):
    starts = hits["module_start"]
    falling = starts.copy()
    falling[60] = starts[-1]
    late = starts.copy()
    late[0] = 5
    short = starts.copy()
    short[-1] -= 1
    beyond = starts.copy()
    beyond[-1] = 2**32 - 1
    for wrong in (falling, late, short, beyond, starts[:-3], np.zeros(0, np.uint32)):
        for columns in (hits, {name: values for name, values in hits.items() if name != "id"}):
            with pytest.raises(peloton.ColumnError, match="module_start"):
                engine.run(**columns | {"module_start": wrong})


def test_absurd_values_cost_their_event_alone(engine, hits):
    first, second = (int(hits["module_start"][52 * event]) for event in (1, 2))
    for value, status in ((np.nan, 1), (np.inf, 1), (1e30, 7)):
        x = hits["x"].copy()
        x[first] = value
        results = engine.run(**hits | {"x": x})
        assert results.status.tolist() == [0, status, 0, 0] and second > first
        assert sum(results.dropped.values()) == 1
        good = engine.run(**hits)
        starts, there = good.starts(0), results.starts(0)
        assert np.array_equal(good.column("chi2")[: starts[1]], results.column("chi2")[: there[1]])


def test_no_events(engine):
    none = np.zeros(0, np.float32)
    results = engine.run(x=none, y=none, z=none, module_start=np.zeros(1, np.uint32))
    assert len(results) == 0 and len(pa.table(results)) == 0 and len(results.to_awkward()) == 0
    assert results.column("chi2").shape == (0,)


def test_many_damages(engine, hits):
    """Random damages of all columns at once: an error or results, and the right ones afterwards."""
    random = np.random.default_rng(1)
    expected = engine.run(**hits).hash
    for _ in range(300):
        columns = {name: values.copy() for name, values in hits.items()}
        for name in random.choice(NAMES, random.integers(1, 4)):
            values = columns[name].view(np.uint8)
            places = random.integers(0, len(values), random.integers(1, 20))
            values[places] = random.integers(0, 256, len(places))
            if random.random() < 0.2:
                columns[name] = columns[name][: random.integers(0, len(columns[name]))]
        try:
            assert len(engine.run(**columns)) <= 4
        except peloton.ColumnError:
            pass
    assert engine.run(**hits).hash == expected
