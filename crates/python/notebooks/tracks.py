# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     name: python3
# ---

# %% [markdown]
# # Tracks
# Tracks of simulated events of the Velo, as numpy, awkward and polars see them.

# %%
import awkward as ak
import numpy as np
import polars as pl
from matplotlib import pyplot as plt

import peloton

tracks = peloton.run("sim:velo,events=200,seed=1")
tracks

# %% [markdown]
# One value for each track, in the memory of the reconstruction:

# %%
chi2 = tracks.column("chi2")
chi2.mean(), chi2.shape, chi2.flags.owndata

# %% [markdown]
# As records: events, tracks, states.

# %%
events = tracks.to_awkward()
forward = events.tracks[events.tracks.backward == 0]
slopes = np.hypot(forward.beam.tx, forward.beam.ty)
ak.num(forward)[:5], events.attrs["units"]["beam_x"]

# %%
_, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
eta = np.arcsinh(1 / ak.to_numpy(ak.flatten(slopes)))
axes[0].hist(eta, bins=60, range=(1, 6), histtype="step")
axes[0].set_xlabel("pseudorapidity of forward tracks")
axes[0].set_ylabel("tracks")
axes[1].hist2d(tracks.column("beam_z"), tracks.column("beam_x"), bins=80, range=[(-200, 200), (-1, 1)])
axes[1].set_xlabel("z at the beam line [mm]")
axes[1].set_ylabel("x at the beam line [mm]")

# %% [markdown]
# As a data frame, one row an event:

# %%
frame = pl.DataFrame(tracks).select("event_id", pl.col("chi2").list.len().alias("tracks"))
assert frame["tracks"].sum() == tracks.counts["track"]
frame.describe()

# %% [markdown]
# Files come back as they were:

# %%
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import uproot

with tempfile.TemporaryDirectory() as folder:
    for name in ("tracks.parquet", "tracks.root"):
        tracks.write(Path(folder) / name)
    table = pq.read_table(Path(folder) / "tracks.parquet")
    with uproot.open(Path(folder) / "tracks.root") as file:
        again = file["events"].arrays(["chi2"])
assert np.array_equal(ak.to_numpy(ak.flatten(again.chi2)), chi2)
assert table.num_rows == len(tracks)
table.schema.names[:8]
