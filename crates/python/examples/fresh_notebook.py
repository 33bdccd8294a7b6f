"""The notebook notebooks/tour.py where there is nothing but a wheel: `python fresh_notebook.py WHEEL FOLDER [PROGRAM]`.

Makes a virtual environment in the folder, without Rust or the program on the path, installs the wheel and the packages that the
notebook needs, and runs it. Then every number of it is compared with the JSON of PROGRAM, the command line program, if it is
named. Figures are left in the folder, to be looked at; each step says how long it took.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parents[1] / "notebooks" / "tour.py"

#: Runs in the new environment: the notebook, then what it found.
INSIDE = """
import base64, json, sys
import jupytext, nbclient, nbformat

notebook = jupytext.read(sys.argv[1])
tell = "import json; print(json.dumps([tracks.summary.json, {name: report.json for name, report in reports.items()}]))"
notebook.cells.append(nbformat.v4.new_code_cell(tell))
nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
code = [cell for cell in notebook.cells if cell.cell_type == "code"]
data = [output.get("data", {}) for cell in code for output in cell.outputs]
pages = [one["text/html"] for one in data if "<iframe" in one.get("text/html", "")]
pictures = [one["image/png"] for one in data if "image/png" in one]
assert len(pages) == len(pictures) == 1, "one figure and one event display are expected"
assert code[1].outputs[0].data["text/plain"] == "True", "files do not give back what they were given"
open("efficiency.png", "wb").write(base64.b64decode(pictures[0]))
open("event.html", "w").write(pages[0])
open("found.json", "w").write(code[-1].outputs[0].text)
"""


def main(wheel: Path, folder: Path, program: str | None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    environment = folder / "environment"
    path = f"{environment / 'bin'}:/usr/bin:/bin"
    for name in ("cargo", "rustc", "peloton"):
        if shutil.which(name, path=path):
            sys.exit(f"{name} is on the path {path}: this shows nothing")
    variables = {**os.environ, "PATH": path}
    # Figures go into the notebook.
    variables.pop("MPLBACKEND", None)

    def timed(what: str, *command: str) -> None:
        begin = time.perf_counter()
        subprocess.run(command, check=True, cwd=folder, env=variables)
        print(f"{what}: {time.perf_counter() - begin:.1f} s", flush=True)

    begin = time.perf_counter()
    venv.create(environment, with_pip=True, clear=True)
    print(f"virtual environment: {time.perf_counter() - begin:.1f} s", flush=True)
    python = str(environment / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--prefer-binary"]
    timed("wheel and packages", *install, f"{wheel}[awkward,plot,root]", "jupytext", "nbclient", "ipykernel")
    timed("first import", python, "-c", "import peloton, awkward, matplotlib.pyplot, uproot")
    timed("notebook", python, "-c", INSIDE, str(NOTEBOOK))
    if program is not None:
        compare(json.loads((folder / "found.json").read_text()), program)
    print(f"look at {folder / 'efficiency.png'} and {folder / 'event.html'}")


def compare(found: list[Any], program: str) -> None:
    """Compares with what the program says of the same events."""
    summary, reports = found
    events = "sim:velo,events=300,seed=1"

    def told(*command: str) -> dict[str, Any]:
        done = subprocess.run([program, *command, "--quiet", "--json", "-"], check=True, capture_output=True, text=True)
        return dict(json.loads(done.stdout))

    expected = [("run", summary, told("run", events))]
    expected += [(f"check {name}", one, told("check", events, "--preset", name)) for name, one in reports.items()]
    count = 0
    for what, left, right in expected:
        # All but times, and what asked for it.
        for key in right.keys() - {"command", "made", "about"}:
            if "second" in key or key == "stages" or "wall" in key:
                continue
            if left[key] != right[key]:
                sys.exit(f"{what}: {key} is {left[key]}, and the program says {right[key]}")
            count += 1
    print(f"{count} entries of the JSON are those of the program")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3] if len(sys.argv) == 4 else None)
