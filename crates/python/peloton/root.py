"""Writes results to ROOT files."""

import os
from typing import TYPE_CHECKING, Any

from peloton.errors import InputError, UnsupportedError

if TYPE_CHECKING:
    from peloton.results import Results


def write(results: "Results", path: str | os.PathLike[str]) -> None:
    """Writes all columns as the RNTuple `events` (or `clusters`), with nested lists; needs uproot and awkward."""
    try:
        import awkward as ak
        import uproot
    except ImportError as error:
        raise UnsupportedError(f"{os.fspath(path)}: .root files need uproot and awkward: {error}") from error
    # uproot's RNTuples have no missing values: a missing integer becomes the largest of its type, a missing float NaN.
    table = results.to_arrow()
    columns = {name: ak.from_arrow(_filled(table[name])) for name in table.column_names}
    name = next(iter(results.counts)) + "s"
    try:
        with uproot.recreate(os.fspath(path)) as file:
            file[name] = ak.zip(columns, depth_limit=1)
    except OSError as error:
        raise InputError(f"{os.fspath(path)}: {error}") from error


def _filled(values: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not values.null_count and not pa.types.is_integer(values.type):
        return values
    is_float = pa.types.is_floating(values.type)
    bits = values.type.bit_width - pa.types.is_signed_integer(values.type)
    missing = float("nan") if is_float else 2**bits - 1
    return pc.fill_null(values, pa.scalar(missing, values.type)).combine_chunks()
