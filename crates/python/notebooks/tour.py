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
# # A tour in a dozen lines

# %%
import awkward as ak
import uproot
from matplotlib import pyplot as plt

import peloton

EVENTS = "sim:velo,events=300,seed=1"
tracks = peloton.run(EVENTS)
tracks

# %% [markdown]
# Tracks as records, and as files:

# %%
tracks.write("tracks.parquet")
tracks.write("tracks.root")
chi2 = float(ak.mean(tracks.to_awkward().tracks.chi2))
chi2 == float(ak.mean(uproot.open("tracks.root:events").arrays().chi2)) == float(ak.mean(ak.from_parquet("tracks.parquet").chi2))

# %% [markdown]
# Efficiency against the transverse momentum, of two presets:

# %%
reports = {preset: peloton.check(EVENTS, preset=preset) for preset in ("best", "paper")}
ax = plt.subplots()[1]
for preset, report in reports.items():
    report.plot("pt", "02_long", ax=ax, label=preset)

# %% [markdown]
# An event, to look into:

# %%
peloton.display(EVENTS, event=0)
