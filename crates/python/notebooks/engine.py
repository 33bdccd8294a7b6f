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
# # Events in memory
# An engine takes events as often as one likes; here with the hits of a module shifted.

# %%
import numpy as np
from matplotlib import pyplot as plt

import peloton

engine = peloton.Engine("velo", threads=1)
hits = peloton.simulate("velo", events=100, seed=1).hits()
nominal = engine.run(**hits)
engine, nominal

# %% [markdown]
# Shift all hits of module 20 in x, and see what becomes of the tracks:

# %%
starts = hits["module_start"].reshape(-1)
first, last = starts[:-1].reshape(-1, 52)[:, 20], starts[1:].reshape(-1, 52)[:, 20]
inside = np.concatenate([np.arange(a, b) for a, b in zip(first, last, strict=True)])
shifts = np.array([0.0, 0.02, 0.05, 0.1, 0.2])
means = []
for shift in shifts:
    x = hits["x"].copy()
    x[inside] += np.float32(shift)
    means.append(float(engine.run(**hits | {"x": x}).column("chi2").mean()))
assert means[0] == float(nominal.column("chi2").mean()) and means[-1] > means[0]

# %%
_, ax = plt.subplots(layout="constrained")
ax.plot(shifts * 1000, means, "o-")
ax.set_xlabel("shift of module 20 [µm]")
ax.set_ylabel("mean chi2 of tracks")

# %% [markdown]
# How fast it is here, and whether scalar code gives the same bits:

# %%
rate = peloton.throughput("sim:velo,events=100,seed=1", seconds=0.2, threads=1)
assert peloton.compare("sim:velo,events=100,seed=1", "isa=scalar", "isa=auto").equal
rate
