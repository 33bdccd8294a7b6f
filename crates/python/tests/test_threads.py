"""The interpreter is free while work runs, and threads share engines."""

import hashlib
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import peloton


def test_python_goes_on_while_events_are_reconstructed():
    engine = peloton.Engine(threads=1)
    events = peloton.simulate("velo", events=1000, seed=1)
    counted, done = [0], threading.Event()

    def count() -> None:
        while not done.is_set():
            counted[0] += 1

    def rate(work) -> float:
        """Counts per second while this thread works."""
        before, begin = counted[0], time.perf_counter()
        work()
        return (counted[0] - before) / (time.perf_counter() - begin)

    def run() -> None:
        for _ in range(5):
            engine.run(events)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        alone, beside = rate(lambda: time.sleep(0.3)), rate(run)
    finally:
        done.set()
        thread.join()
    # With the lock held by the run, the thread would count at the ends of the five runs alone; with one CPU for both, half.
    assert beside > 0.2 * alone, (beside, alone)


def test_threads_share_one_engine():
    engine = peloton.Engine(threads=1)
    batches = [peloton.simulate("velo", events=60, seed=seed) for seed in range(8)]
    expected = [engine.run(batch).hash for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert [results.hash for results in pool.map(engine.run, batches)] == expected


def _busy(work, threads: int) -> float:
    """Wall time of the same work in each of so many threads at once."""
    begin = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: work(), range(threads)))
    return time.perf_counter() - begin


def test_two_threads_gain_what_two_cpus_give(capsys):
    """Beside a loop that needs nothing but a CPU, in turns: machines of tests are shared."""
    if (os.cpu_count() or 1) < 2:
        pytest.skip("one CPU")
    engine = peloton.Engine(threads=1)
    events = peloton.simulate("velo", events=500, seed=1)
    text = bytes(30_000_000)

    def work() -> None:
        for _ in range(2):
            engine.run(events)

    def loop() -> None:
        # Lets go of the interpreter's lock.
        hashlib.sha256(text).digest()

    gains: dict[str, list[float]] = {"engine": [], "loop": []}
    work()
    for _ in range(5):
        for name, one in (("engine", work), ("loop", loop)):
            gains[name].append(2 * _busy(one, 1) / _busy(one, 2))
    engine_gain, loop_gain = max(gains["engine"]), max(gains["loop"])
    with capsys.disabled():
        print(f"\ntwo threads: {engine_gain:.2f} times as fast as one; a loop: {loop_gain:.2f}")
    assert engine_gain > 0.6 * loop_gain
