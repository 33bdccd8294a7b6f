"""Converts columns in any container of the user to numpy arrays over the same memory."""

from typing import Any

import numpy as np

from peloton.errors import ColumnError


def column(name: str, values: Any, kind: type[np.generic]) -> np.ndarray[Any, Any]:
    """Returns the values as a contiguous array of one dimension over the same memory.

    numpy arrays, memoryviews, columns of pyarrow and polars, pandas series and flat awkward arrays are read in place.
    Values that need a copy or a conversion are refused, because a copy or conversion would cost time or hide a mistake.
    """
    array = _array(name, values)
    wanted = np.dtype(kind)
    if array.ndim != 1:
        raise ColumnError(f"{name}: {array.ndim} dimensions, 1 is wanted")
    if array.dtype != wanted:
        words = f"{name}: the type is {array.dtype}, {wanted} is wanted"
        raise ColumnError(f"{words}: convert it with .astype(numpy.{wanted})")
    if not array.dtype.isnative:
        raise ColumnError(f"{name}: the bytes are swapped: convert it with .astype(numpy.{wanted})")
    if not array.flags.c_contiguous:
        raise ColumnError(f"{name}: the values are not contiguous: make them so with numpy.ascontiguousarray")
    if not array.flags.aligned:
        raise ColumnError(f"{name}: the values are not aligned: copy them with numpy.copy")
    return array


def _array(name: str, values: Any) -> np.ndarray[Any, Any]:
    if isinstance(values, np.ma.MaskedArray):
        raise ColumnError(f"{name}: masked values: leave them out first")
    if isinstance(values, np.ndarray):
        return values
    module = type(values).__module__.split(".")[0]
    try:
        if module == "awkward":
            return _awkward(name, values)
        if module == "pyarrow":
            return _pyarrow(name, values)
        if module == "polars":
            return np.asarray(values.to_numpy(allow_copy=False))
        if module == "pandas":
            return np.asarray(values.to_numpy(copy=False))
        if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
            import pyarrow

            return _pyarrow(name, pyarrow.chunked_array(values))
        if isinstance(values, list | tuple):
            raise ColumnError(f"{name}: a {type(values).__name__}: make it a column with numpy.array")
        return np.asarray(values)
    except ColumnError:
        raise
    except ImportError as error:
        raise ColumnError(f"{name}: {error}") from error
    except Exception as error:
        raise ColumnError(f"{name}: cannot be read in place: {error}") from error


def _pyarrow(name: str, values: Any) -> np.ndarray[Any, Any]:
    if hasattr(values, "num_chunks"):
        if values.num_chunks > 1:
            raise ColumnError(f"{name}: {values.num_chunks} chunks: join them with .combine_chunks()")
        if values.num_chunks == 0:
            return np.empty(0, values.type.to_pandas_dtype())
        values = values.chunk(0)
    if values.null_count:
        raise ColumnError(f"{name}: values are missing: leave them out first")
    return np.asarray(values.to_numpy(zero_copy_only=True))


def _awkward(name: str, values: Any) -> np.ndarray[Any, Any]:
    import awkward

    if values.ndim != 1:
        raise ColumnError(f"{name}: a nested array: flatten it with awkward.flatten")
    if "?" in str(values.type) or "option" in str(values.type):
        raise ColumnError(f"{name}: values may be missing: leave them out with awkward.drop_none")
    return np.asarray(awkward.to_numpy(values, allow_missing=False))
