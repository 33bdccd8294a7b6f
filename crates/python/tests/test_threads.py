"""The interpreter is free while work runs, and threads share engines."""

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

    thread = threading.Thread(target=count)
    thread.start()
    engine.run(events)
    during = counted[0]
    done.set()
    thread.join()
    # Without the lock to itself, the thread would count to a few ticks of the interpreter at most.
    assert during > 10_000


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


def test_two_threads_are_nearly_twice_as_fast(capsys):
    """A figure, and a low bar: machines of tests are shared."""
    if (os.cpu_count() or 1) < 2:
        pytest.skip("one CPU")
    engine = peloton.Engine(threads=1)
    events = peloton.simulate("velo", events=1000, seed=1)

    def work() -> None:
        for _ in range(2):
            engine.run(events)

    work()
    gains = [2 * _busy(work, 1) / _busy(work, 2) for _ in range(4)]
    with capsys.disabled():
        print(f"\ntwo threads: {max(gains):.2f} times as fast as one")
    assert max(gains) > 1.2
