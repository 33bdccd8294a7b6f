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


class Times:
    """Wall times of the same work in one thread and in two, round by round."""

    def __init__(self) -> None:
        self.one: list[float] = []
        self.two: list[float] = []

    def add(self, work) -> None:
        self.one.append(_busy(work, 1))
        self.two.append(_busy(work, 2))

    def gain(self) -> float:
        """How many times as fast two threads are as one: by the least times, which others on the machine disturbed least."""
        return 2 * min(self.one) / min(self.two)


def _gain(work, times: Times) -> float:
    """How many times as fast two threads are as one, this time."""
    times.add(work)
    return 2 * times.one[-1] / times.two[-1]


#: Of what two CPUs give to a loop, so much an engine is to give: 1.8 of 2.0. Measuring ends where it is reached.
SHARE = 0.9
#: So much it must give on any machine: a lock held during runs would leave 0.5, and neighbours of a shared machine have taken
#: away a seventh of caches and memory, of which the loop needs nothing.
LEAST = 0.7
#: A machine that gives a loop less is busy with something else.
QUIET = 1.7
#: Rounds on a quiet machine after which no better answer is looked for, and seconds after which nobody waits for one any more.
ROUNDS, PATIENCE = 8, 20
#: So many rounds at least are compared.
FEWEST = 3


def test_two_threads_gain_what_two_cpus_give(capsys):
    """Beside a loop that needs nothing but registers, in turns: machines of tests are shared, and a round counts only where the
    loop before and behind it had two CPUs. The least times of all such rounds are compared. With a lock held during runs two
    threads would gain 1.
    """
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU")
    engine = peloton.Engine(threads=1)
    events = peloton.simulate("velo", events=200, seed=1)

    def work() -> None:
        for _ in range(3):
            # Held while the next ones are made, as users do it.
            tracks = engine.run(events)
        assert len(tracks) == 200

    def loop() -> None:
        # Lets go of the interpreter's lock.
        hashlib.pbkdf2_hmac("sha256", b"a", b"b", 150_000)

    _busy(work, 2)
    loops, works, end = Times(), Times(), time.monotonic() + PATIENCE
    share = 0.0
    before = _gain(loop, loops)
    while len(works.one) < ROUNDS and time.monotonic() < end:
        found, around = Times(), Times()
        found.add(work)
        after = _gain(loop, around)
        if min(before, after) >= QUIET:
            works.one += found.one
            works.two += found.two
            loops.one += around.one
            loops.two += around.two
            share = works.gain() / loops.gain()
            if len(works.one) >= FEWEST and share >= SHARE:
                break
        before = after
    with capsys.disabled():
        print(f"\ntwo threads gain, of what they gain in a loop: {share:.2f}, in {len(works.one)} quiet rounds")
    if len(works.one) < FEWEST:
        pytest.skip("the machine was busy most of the time")
    assert share >= LEAST
