"""Reads results of jobs in parts; each part is compared with the hash that was stored when the part was written."""

import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from peloton import _native
from peloton.errors import InputError, PelotonWarning

if TYPE_CHECKING:
    import pyarrow


class Parts(Iterator["pyarrow.Table"]):
    """Reads parts one by one, each as a table of pyarrow (needs pyarrow)."""

    def __init__(self, paths: list[Path]) -> None:
        self._left = iter(paths)

    def __next__(self) -> "pyarrow.Table":
        import pyarrow
        import pyarrow.parquet

        path = next(self._left)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputError(str(error)) from error
        _native.check_part(os.fspath(path), content)
        return pyarrow.parquet.read_table(pyarrow.BufferReader(content))


def read_parts(place: str | os.PathLike[str]) -> Parts:
    """Reads the results of a job in parts: one pyarrow table for each part of a folder, in order, or for a single part.

    Raises FormatError for a part that has changed since it was written, so that its hash differs from the stored hash.
    """
    parts = parts_of(place)
    if not parts:
        raise InputError(f"{os.fspath(place)}: there are no parts in it: a folder of `peloton.distributed.run`, or one part of it, is needed")
    return Parts(parts)


def parts_of(place: str | os.PathLike[str]) -> list[Path]:
    """Returns the paths of the parts of a folder, in order, or the path of a single part; for other paths, an empty list."""
    path = Path(place)
    if path.is_dir():
        return _of_folder(path) if (path / "_owner.json").exists() else []
    is_part = path.match("part-*.parquet") and (path.parent / "_owner.json").exists()
    return [path] if is_part else []


def _of_folder(folder: Path) -> list[Path]:
    """Returns the paths of the parts of a folder, in their order; a warning names missing parts."""
    parts = sorted(folder.glob("part-*.parquet"))
    numbers = {int(number) for part in parts if (number := part.stem.removeprefix("part-")).isdigit()}
    try:
        count = int(json.loads((folder / "_manifest.json").read_text())["parts"])
    except (OSError, ValueError, KeyError):
        count = max(numbers, default=-1) + 1
    missing = sorted(set(range(count)) - numbers)
    if missing:
        names = ", ".join(str(part) for part in missing[:10]) + (", ..." if len(missing) > 10 else "")
        message = f"{folder}: {len(missing)} of {count} parts are missing ({names}): run them, or see `peloton manifest`"
        warnings.warn(message, PelotonWarning, stacklevel=3)
    return parts
