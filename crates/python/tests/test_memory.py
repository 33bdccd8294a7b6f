"""Columns of results lie where the engine wrote them, and live as long as somebody reads them."""

import gc
import resource
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from inputs import SMALL

import peloton
from peloton._columns import column


def address(values: np.ndarray) -> int:
    return values.__array_interface__["data"][0]


def innermost(array: pa.Array) -> pa.Array:
    while pa.types.is_list(array.type):
        array = array.values
    return array


@pytest.mark.parametrize("sequence", SMALL)
def test_pyarrow_reads_the_columns_in_place(sequence):
    results = peloton.run(SMALL[sequence], sequence=sequence)
    table = pa.table(results)
    again = pa.table(results)
    assert len(table) == len(results)
    for field in results.fields:
        (chunk,) = table[field.name].chunks
        if chunk.null_count:
            continue
        array = innermost(chunk)
        lies = array.buffers()[-1].address
        assert lies == innermost(again[field.name].chunk(0)).buffers()[-1].address
        assert lies == address(results.column(field.name))
        # Where events have several lists, starts are those of the outer ones alone, which memory does not hold.
        if pa.types.is_list(chunk.type) and field.depth == 1 and sequence not in ("ut", "scifi-hits"):
            assert chunk.buffers()[1].address == address(results.starts(0))


def test_columns_lie_in_the_memory_of_the_engine():
    # Columns of the library are 64-byte aligned and followed by values that may be read; copies of Arrow's would be
    # padded to 64 bytes alone.
    results = peloton.Engine(threads=1).run(peloton.simulate("velo", events=40, seed=1))
    for field in results.fields:
        if field.depth and field.name != "status":
            assert address(results.column(field.name)) % 64 == 0


def test_awkward_reads_the_columns_in_place():
    results = peloton.run(SMALL["velo"])
    array = results.to_awkward()
    chi2 = array.tracks.chi2.layout
    while hasattr(chi2, "content"):
        chi2 = chi2.content
    assert address(np.asarray(chi2.data)) == address(results.column("chi2"))


def test_input_columns_are_read_in_place():
    values = np.arange(100, dtype=np.float32)
    assert address(column("x", values, np.float32)) == address(values)
    assert address(column("x", pa.array(values), np.float32)) == address(values)
    assert address(column("x", memoryview(values), np.float32)) == address(values)
    series = pl.Series(values)
    assert address(column("x", series, np.float32)) == address(series.to_numpy(allow_copy=False))
    frozen = values.copy()
    frozen.flags.writeable = False
    assert address(column("x", frozen, np.float32)) == address(frozen)


def test_python_makes_no_copy_of_the_input():
    # As many bytes as no copy could hide among.
    events = 400
    hits = {name: np.array(values) for name, values in peloton.simulate("velo", events=events).hits().items()}
    engine = peloton.Engine(threads=1)
    engine.run(**hits)
    before = {name: values.copy() for name, values in hits.items()}
    tracemalloc.start()
    engine.run(**hits)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < hits["x"].nbytes / 4, f"{peak} bytes for {hits['x'].nbytes} of x"
    assert all(np.array_equal(before[name], hits[name]) for name in hits)


def test_writing_to_the_input_during_a_run_changes_nothing():
    hits = {name: np.array(values) for name, values in peloton.simulate("velo", events=400).hits().items()}
    engine = peloton.Engine(threads=1)
    expected = engine.run(**hits).hash
    found = []
    thread = threading.Thread(target=lambda: found.append(engine.run(**hits).hash))
    # The columns are copied before the run lets go of the interpreter, after which this thread goes on.
    switch = sys.getswitchinterval()
    sys.setswitchinterval(100)
    try:
        thread.start()
        hits["x"][:] = 0
    finally:
        sys.setswitchinterval(switch)
    thread.join()
    assert found == [expected]
    assert engine.run(**hits).hash != expected


def test_results_outlive_everything():
    def make():
        engine = peloton.Engine(threads=2)
        results = engine.run(peloton.simulate("velo", events=40, seed=1))
        return pa.table(results), results.column("chi2"), results.column("chi2").sum(dtype=np.float64)

    table, chi2, expected = make()
    gc.collect()
    # What is freed would be written over.
    for seed in range(3):
        peloton.run(f"sim:velo,events=40,seed={seed}")
    values = innermost(table["chi2"].chunk(0)).to_numpy()
    assert values.sum(dtype=np.float64) == chi2.sum(dtype=np.float64) == expected


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def a_thousand_runs_leave_nothing_behind():
    engine = peloton.Engine(threads=1)
    events = peloton.simulate("velo", events=2, seed=1)
    hits = events.hits()

    def runs(count: int) -> None:
        for _ in range(count):
            pa.table(engine.run(events))
            engine.run(**hits)

    runs(200)
    gc.collect()
    before = resident()
    tracemalloc.start()
    python = tracemalloc.get_traced_memory()[0]
    runs(1000)
    gc.collect()
    python = tracemalloc.get_traced_memory()[0] - python
    tracemalloc.stop()
    assert python < 1 << 16, f"{python} bytes of Python's"
    assert resident() - before < 1 << 20, f"{resident() - before} bytes"


def test_a_thousand_runs_leave_nothing_behind():
    # In a process of its own: memory that other tests left to their libraries comes and goes.
    code = "import test_memory; test_memory.a_thousand_runs_leave_nothing_behind()"
    run = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
