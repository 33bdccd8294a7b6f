"""What the documentation shows runs, and types are what they say."""

import doctest
import importlib.metadata
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import peloton

PACKAGE = Path(__file__).resolve().parents[1]
MODULES = ["peloton", *(f"peloton.{one.name}" for one in pkgutil.iter_modules(peloton.__path__) if one.name != "_native")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_documentation(name):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(importlib.import_module(name), optionflags=flags).failed == 0


def test_help_has_units_and_an_example():
    for one in (peloton.run, peloton.Engine.run, peloton.clusters):
        text = inspect.getdoc(one)
        assert re.search(r"\b(mm|GeV/c|ns)\b", text) and ">>>" in text, one
    # Everything that users see says what it is.
    for name in peloton.__all__:
        if name[0].isalpha():
            assert getattr(getattr(peloton, name), "__doc__", None), name


def test_examples_of_the_readme():
    text = (PACKAGE / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


def test_examples_of_the_formats(tmp_path, monkeypatch):
    """What the page of formats writes with numpy and pandas is read, with its units and chips."""
    text = (PACKAGE.parents[1] / "docs" / "formats.md").read_text()
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, "formats.md", "exec"), {})
    found = {path.name: pa.table(peloton.run(path))["time"].to_pylist() for path in tmp_path.iterdir()}
    assert found == {"hits.npy": [2495.3125, 9000.0], "durations.parquet": [2495.3125]}


def test_times_without_a_unit(tmp_path):
    hits = np.zeros(2, [("t", ">i8"), ("x", "u2"), ("y", "u2"), ("tot", "u2")])
    hits["t"] = [25, 100_000]
    np.save(tmp_path / "hits.npy", hits)

    def times(**options):
        return pa.table(peloton.run(tmp_path / "hits.npy", **options))["time"].to_pylist()

    assert times(time_unit="ns") == [25.0, 100_000.0]
    assert times(time_unit="ticks") == [39.0625, 156_250.0]
    with pytest.raises(peloton.ConfigError, match="unit `days`"):
        times(time_unit="days")


def _run(*command: str) -> None:
    # Not from the folder of the package's sources, which lack the native half.
    folder = PACKAGE / "tests"
    told = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=folder)
    assert told.returncode == 0, told.stdout + told.stderr


@pytest.mark.skipif(os.environ.get("CI") != "true", reason="environments of one's own may have other versions")
def test_every_package_is_pinned():
    lines = (PACKAGE / "tests" / "constraints.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    named = (PACKAGE / "tests" / "requirements.txt").read_text().splitlines()
    needed = _needed(line for line in named if not line.startswith(("#", "-")))
    assert len(needed) > len(named) and {name: pinned.get(name) for name in needed} == needed


def _needed(lines: Iterable[str]) -> dict[str, str]:
    """Versions of what requirements name and of what that needs in turn; an environment in use may hold more."""
    requirements = pytest.importorskip("packaging.requirements")
    found: dict[str, str] = {}
    seen, ahead = set(), list(lines)
    while ahead:
        if (line := ahead.pop()) in seen:
            continue
        seen.add(line)
        wanted = requirements.Requirement(line)
        there = importlib.metadata.distribution(wanted.name)
        found[re.sub("[-_.]+", "-", wanted.name).lower()] = there.version
        for needs in there.requires or ():
            marker = requirements.Requirement(needs).marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *wanted.extras)):
                ahead.append(needs)
    found.pop("setuptools", None)
    return found


def test_types():
    pytest.importorskip("mypy")
    examples = sorted(map(str, (PACKAGE / "examples").glob("*.py")))
    for what in (["-p", "peloton"], ["typed.py"], *([one] for one in examples)):
        _run("mypy", "--strict", "--config-file", "../pyproject.toml", *what)


def test_stubs_are_those_of_the_module():
    pytest.importorskip("mypy")
    _run("mypy.stubtest", "peloton._native", "--mypy-config-file", "../pyproject.toml")
