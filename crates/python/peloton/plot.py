"""Draws figures with matplotlib. Each function draws into axes and returns the axes."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from peloton.reports import Profile
    from peloton.results import Clusters


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots()[1]


def efficiency(table: dict[str, Any], ax: Any = None, **options: Any) -> Any:
    """Draws the efficiency in each bin with its interval; bins without particles are not drawn."""
    bins = [
        one
        for one in table["bins"]
        if one["reconstructible"] and one["low"] is not None and one["high"] is not None
    ]
    ax = _axes(ax)
    low, high = (np.array([one[edge] for one in bins], float) for edge in ("low", "high"))
    values = np.array([one["efficiency"] for one in bins])
    down = values - np.array([one["efficiency_low"] for one in bins])
    up = np.array([one["efficiency_high"] for one in bins]) - values
    middle, half = (low + high) / 2, (high - low) / 2
    options.setdefault("label", table["category"])
    # Each series has larger markers than the series before, so that equal series do not cover each other.
    before = len(ax.containers)
    options = {"fmt": "os^Dv"[before % 5], "markersize": 3 + 3 * (before % 5), "fillstyle": "none"} | options
    ax.errorbar(middle, values, yerr=[down, up], xerr=half, **options)
    unit = f" [{table['unit']}]" if table["unit"] not in ("", "1") else ""
    ax.set_xlabel(f"{table['variable']}{unit}")
    ax.set_ylabel("efficiency")
    ax.legend()
    return ax


def histograms(table: dict[str, Any]) -> tuple[Any, Any]:
    """Returns `hist.Hist` histograms of reconstructed and of reconstructible particles; open-ended bins are omitted."""
    import hist

    bins = [one for one in table["bins"] if one["low"] is not None and one["high"] is not None]
    edges = [one["low"] for one in bins] + [bins[-1]["high"]]
    axis = hist.axis.Variable(edges, name=table["variable"], label=f"{table['variable']} [{table['unit']}]")
    made = []
    for what in ("reconstructed", "reconstructible"):
        histogram = hist.Hist(axis)
        histogram[...] = [one[what] for one in bins]
        made.append(histogram)
    return made[0], made[1]


def profile(found: "Profile", stage: str | None = None, ax: Any = None) -> Any:
    """Draws the time per event (µs) by instruction set and gang size; a frame marks the shortest time."""
    from matplotlib.patches import Rectangle

    measured = found.json["measured"]
    levels = list(dict.fromkeys(one["isa"] for one in measured))
    gangs = sorted({one["gang"] for one in measured})
    times = np.full((len(levels), len(gangs)), np.nan)
    for one in measured:
        time = one["ns_per_event"] if stage is None else one["stages"][stage]
        times[levels.index(one["isa"]), gangs.index(one["gang"])] = time / 1000
    ax = _axes(ax)
    image = ax.imshow(times, cmap="viridis_r", aspect="auto")
    ax.figure.colorbar(image, ax=ax, label="time per event [µs]")
    for (row, column), time in np.ndenumerate(times):
        if np.isfinite(time):
            ax.text(column, row, f"{time:.3g}", ha="center", va="center", backgroundcolor="white", fontsize=8)
    row, column = np.unravel_index(np.nanargmin(times), times.shape)
    ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="black", linewidth=2))
    ax.set_xticks(range(len(gangs)), gangs)
    ax.set_yticks(range(len(levels)), levels)
    ax.set_xlabel("lanes of a gang")
    of = ", ".join(found.json[key] for key in ("sequence", "preset") if found.json.get(key))
    ax.set_title(f"{of}: {stage or 'all stages'}")
    return ax


def frame(clusters: "Clusters", ax: Any = None, size: int = 256) -> Any:
    """Draws the sum of the times over threshold (clocks of 25 ns) of each pixel."""
    x, y, tot = (clusters.column(f"hit_{name}") for name in ("x", "y", "tot"))
    size = max(size, int(x.max(initial=0)) + 1, int(y.max(initial=0)) + 1)
    sums = np.zeros((size, size))
    np.add.at(sums, (y, x), tot)
    ax = _axes(ax)
    shown = np.ma.masked_equal(sums, 0)
    image = ax.imshow(shown, origin="lower", norm="log" if sums.any() else None)
    ax.figure.colorbar(image, ax=ax, label="time over threshold [25 ns]")
    ax.set_xlabel("x [pixel]")
    ax.set_ylabel("y [pixel]")
    return ax
