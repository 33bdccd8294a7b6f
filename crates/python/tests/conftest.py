"""What tests share: the command line's program, and real events where there are any."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]


def missing(what: str) -> None:
    """Skips a test for want of something, which CI must have."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def program() -> Path:
    """The command line's program, of the same build."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    path = Path(os.environ.get("PELOTON_PROGRAM", target / "release" / "peloton"))
    if not path.exists():
        missing(f"{path} is missing: cargo build --release, or name it in PELOTON_PROGRAM")
    return path


@pytest.fixture(scope="session")
def summary(program: Path) -> Any:
    """Runs `peloton run --json -` with these arguments."""

    def run(*arguments: str) -> dict[str, Any]:
        command = [program, "run", "--quiet", "--json", "-", *arguments]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return dict(json.loads(told))

    return run


@pytest.fixture(scope="session")
def levels(program: Path) -> list[str]:
    """The instruction sets of this CPU."""
    names = ["scalar", "portable", "avx2", "avx512", "neon"]
    command = [program, "run", "--quiet", "sim:velo,events=1", "--isa"]
    return [name for name in names if subprocess.run([*command, name], capture_output=True).returncode == 0]


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real events."""
    path = Path(os.environ.get("PELOTON_DATA", ROOT.parent / "shared" / "data"))
    if not path.exists():
        missing(f"no real events: {path}")
    return path
