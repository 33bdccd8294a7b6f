"""Pictures of events, in a notebook or as files."""

import json
import os
import tempfile
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any, Unpack

from peloton import _native
from peloton._options import Options, Path_, request
from peloton._progress import Progress, reporter
from peloton.jobs import raise_failure


class Picture:
    """An HTML page with views of an event or of a frame of pixel hits; notebooks show it as the value of a cell."""

    #: Height of the page in a notebook, in pixels of the screen.
    height = 760

    def __init__(self, json: dict[str, Any], page: str) -> None:
        self.json = json
        self.page = page

    def __repr__(self) -> str:
        keys = ("event", "hits", "tracks", "frame_hits", "frame_clusters")
        told = ", ".join(f"{key}={self.json[key]}" for key in keys if key in self.json)
        return f"<peloton.Picture: {told}>"

    def _repr_html_(self) -> str:
        frame = f'width="100%" height="{self.height}" style="border: 0" sandbox="allow-scripts"'
        return f'<iframe {frame} srcdoc="{escape(self.page)}"></iframe>'


def display(
    inputs: Path_ | Iterable[Path_],
    event: int | str | None = None,
    output: Path_ | None = None,
    view: str | None = None,
    truth: bool = True,
    frame_us: float | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[Options],
) -> Picture | dict[str, Any]:
    """Draws an event, or a frame of pixel hits, with its tracks or clusters.

    `event` is the number of the event, from 0 over all inputs; by default, the first event is drawn, or the frame (of `frame_us`,
    1000 us) with the most hits. Lengths are in mm. If the input has truth, tracks are marked as found, clones or ghosts, unless
    `truth` is False. With `output`, writes a file (`.html`, `.svg` with one `view` of rz, xy, xz, yz, or `.json` for HSF Phoenix)
    and returns a dictionary. If no event could be reconstructed, raises a FormatError whose `results` is the return value.

    >>> import peloton
    >>> peloton.display("sim:velo,events=2,seed=1", event=1)
    <peloton.Picture: event=1, hits=..., tracks=...>
    """
    asked = request(inputs, **options)
    drawing = {
        "event": None if event is None else str(event),
        "view": view,
        "truth": truth,
        "frame_us": frame_us,
    }
    with tempfile.TemporaryDirectory() as folder, reporter(progress) as report:
        path = Path(folder) / "page.html" if output is None else Path(output)
        drawn, failure = _native.display(asked, drawing, os.fspath(path), report)
        told: dict[str, Any] = json.loads(drawn)
        made = Picture(told, path.read_text(encoding="utf-8")) if output is None else told
    raise_failure(failure, made)
    return made
