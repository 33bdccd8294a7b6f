"""What the wheel brings along, and the module beside the C library in one process: two Rust libraries."""

import ctypes
import importlib.metadata
import json
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, missing

import peloton


def test_licences_are_in_the_package() -> None:
    files = importlib.metadata.files("peloton-tracking") or []
    licences = {file.name: file.read_text() for file in files if "licenses" in file.parts}
    for name in ("LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.md"):
        assert licences[name] == (ROOT / name).read_text(), name


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    """The C library of the same checkout; next to nothing is left to compile."""
    cargo = shutil.which("cargo")
    if cargo is None:
        missing("cargo, to build the C library")
    command = [cargo, "build", "--release", "--locked", "--message-format", "short"]
    manifest = ["--manifest-path", str(ROOT / "crates" / "capi" / "Cargo.toml")]
    subprocess.run([*command, *manifest], check=True, cwd=ROOT)
    told = subprocess.run(["cargo", "metadata", "--format-version", "1", "--no-deps"], cwd=ROOT, capture_output=True)
    folder = Path(json.loads(told.stdout)["target_directory"])
    return ctypes.CDLL(str(folder / "release" / "libpeloton.so"))


class Library:
    """As much of the C interface as this test needs."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        library.peloton_last_error.restype = ctypes.c_char_p

    def call(self, name: str, *arguments: Any) -> None:
        code = getattr(self.library, name)(*arguments)
        assert code == 0, (name, code, self.library.peloton_last_error())

    def made(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.byref(handle))
        return handle

    def hashes(self, toml: bytes, mdf: bytes) -> tuple[str, str]:
        engine = self.made("peloton_engine_new", toml, ctypes.c_size_t(len(toml)), b"nominal")
        result, workspace = self.made("peloton_result_new", engine), self.made("peloton_workspace_new", engine)
        batch, hasher = self.made("peloton_batch_new"), self.made("peloton_hasher_new")
        self.call("peloton_batch_mdf", batch, mdf, ctypes.c_size_t(len(mdf)), None, None)
        self.call("peloton_run_banks", engine, workspace, batch, result, None)
        pool = self.made("peloton_pool_new", engine, ctypes.c_size_t(2))
        self.call("peloton_pool_run_banks", pool, batch, result, None)
        self.call("peloton_hasher_add", hasher, result)
        hashes = (ctypes.c_uint64 * 2)()
        self.call("peloton_hasher_end", hasher, hashes)
        for handle, kind in ((pool, "pool"), (hasher, "hasher"), (batch, "batch"), (workspace, "workspace")):
            getattr(self.library, f"peloton_{kind}_free")(handle)
        self.library.peloton_result_free(result)
        self.library.peloton_engine_free(engine)
        return f"{hashes[0]:016x}", f"{hashes[1]:016x}"


@pytest.mark.parametrize("sequence", ["velo", "long"])
def test_two_rust_libraries_in_one_process(
    library: ctypes.CDLL, program: Path, summary: Any, tmp_path: Path, sequence: str
) -> None:
    """Both at once, in threads; then a failure in either, which the other knows nothing of."""
    events = tmp_path / "events.mdf"
    simulate = [program, "simulate", "--quiet", "--detector", "lhcb", "--events", "20", "--output", events]
    subprocess.run(simulate, check=True)
    told = summary(str(events), "--sequence", sequence, "--geometry", "nominal")
    expected = (told["hash_int"], told["output_hash"])
    of_c, mdf, toml = Library(library), events.read_bytes(), f"sequence = '{sequence}'".encode()
    found: list[tuple[str, str]] = []

    def work() -> None:
        found.extend(of_c.hashes(toml, mdf) for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        of_python = peloton.run(str(events), sequence=sequence, geometry="nominal", threads=2).hash
        assert (of_python.hash_int, of_python.output_hash) == expected
    for thread in threads:
        thread.join()
    assert found == [expected] * 10
    with pytest.raises(peloton.Error):
        peloton.Engine("nonsense")
    assert library.peloton_batch_new(None) == -1
    assert b"NULL" in library.peloton_last_error()
    assert of_c.hashes(toml, mdf) == expected
