"""Results as ROOT files."""

import os
from typing import TYPE_CHECKING

from peloton.errors import InputError, UnsupportedError

if TYPE_CHECKING:
    from peloton.results import Results


def write(results: "Results", path: str | os.PathLike[str]) -> None:
    """Writes all columns as the RNTuple `events` (or `clusters`), lists in lists as they are; needs uproot and awkward."""
    try:
        import awkward as ak
        import uproot
    except ImportError as error:
        raise UnsupportedError(f"{os.fspath(path)}: .root files need uproot and awkward: {error}") from error
    array = ak.from_arrow(results.to_arrow())
    # An RNTuple of uproot has no missing values: they are the largest number there is.
    columns = {name: _filled(array[name]) for name in array.fields}
    name = next(iter(results.counts)) + "s"
    try:
        with uproot.recreate(os.fspath(path)) as file:
            file[name] = ak.zip(columns, depth_limit=1)
    except OSError as error:
        raise InputError(f"{os.fspath(path)}: {error}") from error


def _filled(values: "object") -> "object":
    import awkward as ak
    import numpy as np

    if "?" not in str(ak.type(values)):
        return values
    kind = ak.to_numpy(ak.drop_none(values)).dtype
    missing = np.nan if kind.kind == "f" else np.iinfo(np.uint32 if kind.kind == "O" else kind).max
    return ak.values_astype(ak.fill_none(values, missing), kind)
