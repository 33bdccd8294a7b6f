"""Ctrl-C ends what runs, and the next call works; processes may be forked or spawned."""

import json
import multiprocessing
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import pytest
from inputs import SMALL

import peloton

#: So long Ctrl-C may take, s: the promise is 0.1, machines of tests are busy.
PATIENCE = 1.0
#: The same where what was made so far is still written.
PATIENCE_WITH_FILE = 5.0

CALLS = {
    "run": "peloton.run('sim:velo,events=1000000,seed=1', threads=1)",
    "run to a file": "peloton.run('sim:velo,events=1000000,seed=1', sys.argv[1], threads=1)",
    "run raw banks": "peloton.run('sim:lhcb,events=1000000,seed=1', sequence='long', threads=1)",
    "engine": "engine.run(events)",
    "read": "list(peloton.read('sim:lhcb,events=100000,seed=1', batch=5000))",
    "clusters": "sum(map(len, peloton.clusters('sim:timepix,hits=1000000000,seed=1')))",
    "listen": "list(peloton.clusters('tcp://127.0.0.1:0', format='tpx3'))",
    "check": "peloton.check('sim:velo,events=1000000,seed=1')",
    "throughput": "peloton.throughput('sim:velo,events=100,seed=1', seconds=1000)",
}

PROGRAM = """
import os, signal, sys, threading, time
import peloton

engine = peloton.Engine(threads=1)
few = peloton.simulate("velo", events=500, seed=1)
events = few
hits = few.hits()
if "engine" in sys.argv[2]:
    import numpy
    many = 40
    starts = hits["module_start"].astype(numpy.uint64)
    shift = numpy.repeat(numpy.arange(many, dtype=numpy.uint64) * starts[-1], len(starts) - 1)
    starts = numpy.concatenate([[0], (numpy.tile(starts[1:], many) + shift)]).astype(numpy.uint32)
    columns = {name: numpy.tile(values, many) for name, values in hits.items() if name != "module_start"}
    call = lambda: engine.run(module_start=starts, **columns)
else:
    call = lambda: CALL

sent = []
def interrupt():
    time.sleep(0.5)
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    call()
except KeyboardInterrupt:
    took = time.perf_counter() - sent[0]
else:
    sys.exit("nobody was interrupted")
assert len(peloton.run("sim:velo,events=5,seed=1")) == 5
assert len(engine.run(few)) == 500
print(took, flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("what", CALLS)
def test_ctrl_c(what, tmp_path):
    path = tmp_path / "tracks.parquet"
    program = textwrap.dedent(PROGRAM).replace("CALL", CALLS[what])
    command = [sys.executable, "-c", program, path, what]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert told.returncode == 0, told.stderr
    took = float(told.stdout)
    print(f"{what}: {1000 * took:.0f} ms")
    assert took < (PATIENCE_WITH_FILE if "file" in what else PATIENCE)
    if "file" in what:
        import pyarrow.parquet as pq

        assert 0 < pq.read_table(path).num_rows < 1_000_000


def test_other_handlers_are_left_alone():
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        signal.raise_signal(signal.SIGINT)
        peloton.run(SMALL["velo"])
        assert seen == [1]
    finally:
        signal.signal(signal.SIGINT, before)


ENGINE = peloton.Engine(threads=2)


#: Text of an event without hits.
NO_HITS = json.dumps({"module_prefix_sum": [0] * 53, "x": [], "y": [], "z": []})


def work(seed: int) -> str:
    """What a process does: an engine from before it began, one of its own, a job, texts, a file of results."""
    source = f"sim:velo,events=40,seed={seed}"
    (events,) = peloton.read(source)
    own = peloton.Engine(threads=2).run(events).hash
    assert ENGINE.run(events).hash == own == peloton.run(source, threads=2).hash
    with tempfile.TemporaryDirectory() as folder:
        texts = Path(folder) / "texts.ndjson"
        texts.write_text(f"{NO_HITS}\n" * 9)
        (events,) = peloton.read(texts)
        assert len(events) == 9
        ENGINE.run(events).write(Path(folder) / "tracks.parquet")
    return own.output_hash


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes(method):
    expected = [work(seed) for seed in range(4)]
    begin = time.perf_counter()
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(work, range(4)).get(timeout=30) == expected
    assert time.perf_counter() - begin < 30
    assert work(0) == expected[0]
