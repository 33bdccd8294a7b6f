"""Python gives the bits that the command line gives."""

import ctypes
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import missing
from inputs import SMALL

import peloton


@pytest.mark.parametrize("sequence", SMALL)
def test_every_sequence_and_level(sequence, summary, levels):
    source = SMALL[sequence]
    expected = summary(source, "--sequence", sequence)
    for isa in levels:
        for threads in (1, 2):
            results = peloton.run(source, sequence=sequence, isa=isa, threads=threads)
            found = results.hash
            assert (found.hash_int, found.output_hash) == (expected["hash_int"], expected["output_hash"])
            assert results.summary["output_hash"] == expected["output_hash"]
            assert (results.dropped, len(results)) == (expected["dropped"], expected["events"])


@pytest.mark.parametrize("sequence", [sequence for sequence in SMALL if sequence != "timepix"])
def test_engines_in_batches(sequence, summary):
    source = SMALL[sequence]
    # An engine of one's own has no true particles as seeds.
    config = {"cylinder": {"seeds": "hits"}} if sequence == "cylinder" else None
    flags = ["--seeds", "hits"] if sequence == "cylinder" else []
    expected = summary(source, "--sequence", sequence, *flags)
    geometry = None if sequence in ("velo", "cylinder", "cylinder-fit") else "nominal"
    for threads in (1, 2):
        engine = peloton.Engine(sequence, threads=threads, geometry=geometry, config=config)
        for batch in (1, 3, 64):
            tracks = 0
            for events in peloton.read(source, batch=batch, sequence=sequence):
                results = engine.run(events)
                tracks += results.counts.get("track", 0)
            assert tracks == expected["tracks"]
            if batch == 64:
                assert results.hash.output_hash == expected["output_hash"]
                assert results.hash.hash_int == expected["hash_int"]


@pytest.mark.parametrize("algorithms", [None, ["velo_tracks", "scifi_hits", "scifi_tracks", "long_tracks"]])
def test_several_products_of_one_run(algorithms):
    source, names = SMALL["long"], ["velo_tracks", "long_tracks"]
    own = {"sequence": "long"} if algorithms is None else {"algorithms": algorithms}
    alone = {name: peloton.run(source, config={**own, "write": [name]}) for name in names}
    config = {**own, "write": names}
    both = peloton.run(source, config=config)
    assert both.product("long_tracks").summary is both.summary
    assert both.product("long_tracks").dropped == both.dropped
    (events,) = peloton.read(source, config=config)
    # Each engine four times, so that it takes the memory of results that are gone.
    engines = [peloton.Engine(config=config, geometry="nominal", threads=threads) for threads in (1, 2)]
    runs = (engine.run(events) for engine in engines for _ in range(4))
    for results in itertools.chain([both], runs):
        assert results.products == names
        assert results.hash == alone["velo_tracks"].hash
        for name, expected in alone.items():
            product = results.product(name)
            assert (product.products, product.hash) == (names, expected.hash)
            assert product.fields == expected.fields
            assert product.column("event_id").tolist() == expected.column("event_id").tolist()
        with pytest.raises(peloton.ConfigError, match="no product `hits` among velo_tracks, long_tracks"):
            results.product("hits")


def test_columns_of_hits(summary):
    expected = summary("sim:velo,events=50,seed=9")["output_hash"]
    events = peloton.simulate("velo", events=50, seed=9)
    for threads in (1, 2):
        engine = peloton.Engine("velo", threads=threads)
        assert engine.run(events).hash.output_hash == expected
        hits = events.hits()
        assert engine.run(**hits).hash.output_hash == expected
        del hits["id"]
        assert engine.run(**hits).hash.output_hash == expected


def test_thousand_raw_events(summary):
    source = "sim:lhcb,events=1000,seed=1"
    expected = summary(source, "--sequence", "velo")
    results = peloton.run(source, sequence="velo")
    assert results.hash.output_hash == expected["output_hash"]


def test_real_events(data, summary):
    public = data / "velo" / "public200.ndjson.zst"
    if not public.exists():
        missing(f"no {public}")
    expected = summary(str(public))
    results = peloton.run(public)
    assert (len(results), results.hash.output_hash) == (expected["events"], expected["output_hash"])
    engine = peloton.Engine()
    (events,) = peloton.read(public, batch=1000)
    assert engine.run(events).hash.output_hash == expected["output_hash"]


HOST = """
#include <xmmintrin.h>
void change(void) { _mm_setcsr(0x9fc0 | 0x4000); }
"""

IN_ANOTHER_MODE = """
import ctypes, sys
import numpy as np
mode = ctypes.CDLL(sys.argv[1])
small = np.array([np.finfo(np.float32).tiny], np.float32)
assert (small * np.float32(0.5))[0] != 0
mode.change()
assert (small * np.float32(0.5))[0] == 0, "the mode of the process is the usual one"
import peloton
source, threads = "sim:velo,events=20,seed=3", int(sys.argv[2])
print(peloton.run(source, threads=threads).hash.output_hash)
events = peloton.simulate("velo", events=20, seed=3)
print(peloton.Engine(threads=threads).run(events).hash.output_hash)
print(peloton.Engine(threads=threads).run(**events.hits()).hash.output_hash)
few = peloton.simulate("velo", events=40, seed=3)
print(peloton.Engine(threads=threads).run(few).hash.output_hash)
assert (small * np.float32(0.5))[0] == 0, "the mode of the process was not given back"
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_in_a_process_of_another_floating_point_mode(tmp_path: Path, summary, threads):
    source, library = tmp_path / "mode.c", tmp_path / "mode.so"
    source.write_text(HOST)
    made = subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], capture_output=True)
    if made.returncode != 0:
        missing(f"no C compiler for this CPU: {made.stderr.decode()}")
    assert ctypes.sizeof(ctypes.c_void_p) == 8
    command = [sys.executable, "-c", IN_ANOTHER_MODE, library, str(threads)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    twenty = summary("sim:velo,events=20,seed=3")["output_hash"]
    forty = summary("sim:velo,events=40,seed=3")["output_hash"]
    assert told == [twenty, twenty, twenty, forty]


def test_a_shared_engine_keeps_its_results_apart():
    engine = peloton.Engine(threads=1)
    first = engine.run(peloton.simulate("velo", events=40, seed=1))
    before = first.column("chi2").copy()
    engine.run(peloton.simulate("velo", events=40, seed=2))
    assert np.array_equal(before, first.column("chi2"))
