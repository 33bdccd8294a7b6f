"""Results as awkward arrays of records."""

from typing import TYPE_CHECKING, Any

import awkward as ak
import numpy as np

if TYPE_CHECKING:
    from peloton.results import Results


def to_awkward(results: "Results") -> ak.Array:
    """Returns rows as records, and the items of a row as lists of records: `tracks.tracks.chi2`, `clusters.hits.x`.

    In sequences of tracks, an event has its numbers, its status, and a list `tracks`. The columns of a state, such as `beam_x`
    and `beam_tx`, are one record (`tracks.beam.x`). Tracks of `cylinder` are vectors with `pt` (GeV/c), `eta` and `q`, too.
    """
    flat = ak.from_arrow(results.to_arrow())
    units = {field.name: field.unit for field in results.fields}
    levels = list(results.counts)
    top = {field.name: flat[field.name] for field in results.fields if field.depth == 0}
    inside = [field for field in results.fields if field.depth > 0]
    if inside:
        item = levels[1] + "s"
        prefix = f"{levels[1]}_"
        columns = {field.name.removeprefix(prefix): flat[field.name] for field in inside}
        top[item] = _records(columns)
        if {"qpt", "theta", "phi"} <= {field.name for field in inside if field.depth == 1}:
            top[item] = _with_momentum(top[item])
    array = ak.zip(top, depth_limit=1)
    array.attrs["units"] = units
    array.attrs["sequence_levels"] = levels
    return array


def _records(columns: dict[str, Any]) -> ak.Array:
    """Returns columns of one depth as records; the columns of a state become one record."""
    states = {name.rsplit("_", 1)[0] for name in columns if name.endswith(("_tx", "_x")) and "_" in name}
    states = {state for state in states if f"{state}_tx" in columns}
    plain: dict[str, Any] = {}
    nested: dict[str, dict[str, Any]] = {}
    for name, values in columns.items():
        state = next((one for one in states if name.startswith(f"{one}_")), None)
        if state is None:
            plain[name] = values
        else:
            nested.setdefault(state, {})[name.removeprefix(f"{state}_")] = values
    for state, values in nested.items():
        plain[state] = ak.zip(values, depth_limit=2)
    return ak.zip(plain, depth_limit=2)


def _with_momentum(tracks: ak.Array) -> ak.Array:
    """Returns tracks in a magnetic field as momentum vectors of scikit-hep, if `vector` is installed."""
    qpt, theta = tracks.qpt, tracks.theta
    columns = {name: tracks[name] for name in tracks.fields}
    columns |= {"pt": 1.0 / abs(qpt), "eta": -np.log(np.tan(0.5 * theta)), "q": np.sign(qpt)}
    try:
        import vector
    except ImportError:
        return ak.zip(columns, depth_limit=2)
    vector.register_awkward()
    # A vector has only one of theta and eta, and its z is a momentum: theta and the position's z are renamed.
    columns["polar"], columns["z_hit"] = columns.pop("theta"), columns.pop("z")
    return ak.zip(columns, depth_limit=2, with_name="Momentum3D")
