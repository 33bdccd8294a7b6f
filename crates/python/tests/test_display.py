"""Pictures of events in notebooks and as files."""

import html
import json
import re

import pytest
from inputs import SMALL

import peloton


@pytest.mark.parametrize("sequence", SMALL)
def test_every_sequence_is_drawn(sequence, tmp_path):
    picture = peloton.display(SMALL[sequence], sequence=sequence)
    shown = picture._repr_html_()
    (page,) = re.findall(r'srcdoc="([^"]*)"', shown)
    assert html.unescape(page) == picture.page and "<svg" in picture.page
    # The same page as a file.
    told = peloton.display(SMALL[sequence], output=tmp_path / "a.html", sequence=sequence)
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == picture.page
    assert {**told, "output": ""} == {**picture.json, "output": ""}


def test_an_event_is_that_of_the_run(tmp_path):
    tracks = peloton.run("sim:velo,events=5,seed=1")
    picture = peloton.display("sim:velo,events=5,seed=1", event=3)
    assert picture.json["event"] == 3 and picture.json["tracks"] == len(tracks[3]["chi2"])
    assert picture.json["classes"]["found"] > 10
    assert peloton.display("sim:velo,events=5,seed=1", event=3, truth=False).json["classes"] == {}
    told = peloton.display("sim:velo,events=5,seed=1", event="1..4", output=tmp_path / "a.json")
    assert told["events"] == 3 == len(json.loads((tmp_path / "a.json").read_text()))
    peloton.display("sim:velo,events=5,seed=1", output=tmp_path / "a.svg", view="xy")
    assert (tmp_path / "a.svg").read_text().startswith("<svg")


def test_what_cannot_be_drawn_is_told(tmp_path):
    for how, words in [({"event": "x"}, "number"), ({"view": "up"}, "rz"), ({"output": tmp_path / "a.png"}, "html")]:
        with pytest.raises(peloton.ConfigError, match=words):
            peloton.display("sim:velo,events=2", **how)
    with pytest.raises(peloton.Error, match="7"):
        peloton.display("sim:velo,events=2", event=7)


def test_a_bad_event_is_told_and_drawn(tmp_path):
    peloton.simulate("velo", events=1, seed=1, output=tmp_path / "a.ndjson")
    text = (tmp_path / "a.ndjson").read_text()
    (tmp_path / "b.ndjson").write_text(text[: len(text) // 2] + "\n")
    with pytest.warns(peloton.PelotonWarning), pytest.raises(peloton.FormatError, match="no event") as caught:
        peloton.display(tmp_path / "b.ndjson")
    picture = caught.value.results
    assert isinstance(picture, peloton.Picture) and picture.json["tracks"] == 0 and "<svg" in picture.page
