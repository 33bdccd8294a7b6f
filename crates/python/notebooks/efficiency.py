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
# # Efficiency
# Two presets on the same simulated events, against the truth.

# %%
from matplotlib import pyplot as plt

import peloton

EVENTS = "sim:velo,events=200,seed=1"
reports = {preset: peloton.check(EVENTS, preset=preset) for preset in ("best", "paper")}
reports["best"]

# %%
_, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, variable in zip(axes, ("pt", "eta"), strict=True):
    for preset, report in reports.items():
        report.plot(variable, "02_long", ax=ax, label=preset)
    ax.set_title("long tracks")

# %% [markdown]
# The same as histograms of scikit-hep:

# %%
passed, total = reports["best"].to_hist("pt", "02_long")
assert passed.sum() <= total.sum()
passed.sum() / total.sum()

# %% [markdown]
# Every number is equal to the number in the command line's JSON:

# %%
{preset: report.json["ghost_rate"] for preset, report in reports.items()}
