"""Configurations as dictionaries: any text in them comes to the engine as it is."""

import copy
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import peloton
from peloton import _native
from peloton._options import Options, toml

HOSTILE = [
    '"',
    "'",
    "\\",
    "\\n",
    "a\nb\r\tc",
    3 * "'",
    3 * '"',
    "\x01\x1f\x7f\x80",
    "\u00e4\u2028\ufeff",
    "\U0001f4a5",
    "",
    "]\n[x]",
    "a = 1 # b",
]


def test_what_is_written_is_what_is_read():
    config = {"a": HOSTILE, "b": {"path": Path('x\\"y'), "c": {text: text for text in HOSTILE}}}
    config |= {text: index for index, text in enumerate(HOSTILE)}
    config["passes"] = [{"weights": (1.5, -2e-9, 1e300), "on": True, "none": None}, {text: [text] for text in HOSTILE}]
    config["numbers"] = {"one": np.float32(0.5), "many": np.arange(3), "large": 2**62, "of": [[1, 2], []]}
    expected = copy.deepcopy(config)
    expected["b"]["path"] = 'x\\"y'
    expected["passes"][0] = {"weights": [1.5, -2e-9, 1e300], "on": True}
    expected["numbers"] = {"one": 0.5, "many": [0, 1, 2], "large": 2**62, "of": [[1, 2], []]}
    assert tomllib.loads(toml(config)) == expected


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", object(), b"bytes", {1: 2}, {"\udfff": 1}])
def test_what_toml_does_not_have_is_named(value):
    with pytest.raises(peloton.ConfigError, match="config: "):
        toml({"key": value})


@pytest.mark.parametrize("text", [text for text in HOSTILE if text])
def test_any_text_comes_to_the_engine_as_it_is(text):
    engine = peloton.Engine(config={"timepix": {"calibration": text}}, threads=1)
    assert tomllib.loads(engine.config)["timepix"]["calibration"] == text


def test_a_configuration_of_the_engine_comes_back():
    for sequence in ("velo", "scifi"):
        geometry = "nominal" if sequence == "scifi" else None
        engine = peloton.Engine(sequence, preset="best", geometry=geometry, threads=1)
        again = peloton.Engine(sequence, config=tomllib.loads(engine.config), geometry=geometry)
        assert again.config == engine.config


def test_sequences_are_listed():
    """Where users read which sequences there are, all are named."""
    readme = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
    for text, begin, end in ((readme, "`sequence` (", ")"), (Options.__doc__, "sequence: ", ";")):
        (listed,) = re.findall(f"{re.escape(begin)}(.*?){re.escape(end)}", text, re.DOTALL)
        named = re.sub(r"\([a-z ]*\)", "", listed).replace(",", " ").split()
        assert sorted(named) == sorted(_native.SEQUENCES)
