"""Nothing is made up, and nothing is lost in silence."""

import warnings

import pytest

import peloton

EVENTS = "sim:velo,events=20,seed=1"


def test_no_input_is_an_error_everywhere(tmp_path):
    jobs = (peloton.run, peloton.check, peloton.read, peloton.throughput, peloton.tune, peloton.compare, peloton.display)
    for job in jobs:
        for inputs in ([], (name for name in ())):
            with pytest.raises(peloton.ConfigError, match="no input: give files"):
                job(inputs)
        with pytest.raises(peloton.InputError, match="no file matches this pattern"):
            job(str(tmp_path / "*.mdf"))
    with pytest.raises(peloton.ConfigError, match="no input"):
        peloton.run([], tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []
    # Engines have no inputs.
    assert peloton.Engine(threads=1).info["preset"] == "best"


def test_a_rate_has_one_meaning():
    measured = peloton.throughput(EVENTS, passes=5, threads=1)
    assert measured.events_per_second == measured["events_per_second"]
    assert measured.events_per_second_best == measured["events_per_second_best"]


def test_presets_are_those_of_the_sequence():
    for job in (peloton.run, peloton.throughput):
        with pytest.raises(peloton.ConfigError, match="velo has best, fast, two-pass, paper"):
            job(EVENTS, preset="hlt1")
    with pytest.raises(peloton.ConfigError, match="scifi has best, fast, hlt1"):
        peloton.Engine("scifi", preset="paper", geometry="nominal")
    engine = peloton.Engine("ut", geometry="nominal", threads=1)
    assert engine.info["preset"] is None and "best" not in repr(engine)
    assert peloton.run("sim:timepix,hits=100").summary["preset"] is None


@pytest.fixture
def late(tmp_path):
    """90 hits in order, and 10 between them that come 50 ms too late."""
    hits = [(1000 + n, 2_000_000 if n % 10 == 5 else 4_000_000 + 1000 * n) for n in range(100)]
    path = tmp_path / "late.txt"
    path.write_text("".join(f"{pixel} {time} 0 9\n" for pixel, time in hits))
    return path


def test_lost_hits_are_warned_of_once_and_may_be_limited(late):
    with pytest.warns(peloton.PelotonWarning) as caught:
        clusters = peloton.run(late)
    assert [str(one.message) for one in caught] == [
        "10 of 100 hits (10.0 %) have times that contradict their neighbours: see --disorder-us, --toa-bits"
    ]
    assert clusters.dropped["implausible_times"] == 10
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", peloton.PelotonWarning)
        for enough in (10, "10%", "100%"):
            assert len(peloton.run(late, max_bad=enough)) == 90
        for too_few in (9, "9.5%"):
            with pytest.raises(peloton.FormatError, match="more than --max-bad 9"):
                peloton.run(late, max_bad=too_few)
    for wrong in (-1, "-1%", "nan%", "101%", 1.5, True):
        with pytest.raises(peloton.ConfigError, match="max_bad"):
            peloton.run(late, max_bad=wrong)


def test_nothing_left_is_a_failure(late):
    nothing = {"config": {"timepix": {"filter": [{"feature": "size", "min": 5.0, "max": 9.0}]}}}
    with pytest.raises(peloton.FormatError, match="no hit is left"):
        peloton.run(late, **nothing)
    with pytest.warns(peloton.PelotonWarning):
        assert len(peloton.run(late, max_bad="100%", **nothing)) == 0
