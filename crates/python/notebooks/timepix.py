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
# # Timepix
# Clusters of a simulated stream of pixel hits, block by block.

# %%
import numpy as np
from matplotlib import pyplot as plt

import peloton

with peloton.clusters("sim:timepix,preset=pion75,hits=200000,seed=1") as stream:
    blocks = list(stream)
len(blocks), sum(map(len, blocks)), stream.summary["hits"]

# %%
_, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
blocks[0].plot_frame(axes[0])
lengths = np.concatenate([block.column("length") for block in blocks])
axes[1].hist(lengths, bins=60, histtype="step", range=(0, 40))
axes[1].set_xlabel("length of the cluster [pixel]")
axes[1].set_ylabel("clusters")

# %% [markdown]
# The same clusters in one piece, as a file of pymepix:

# %%
import tempfile
from pathlib import Path

import h5py

clusters = peloton.run("sim:timepix,preset=pion75,hits=200000,seed=1")
assert len(clusters) == sum(map(len, blocks))
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "clusters.hdf5"
    clusters.to_hdf5(path)
    with h5py.File(path) as file:
        sizes = file["centroided/clustersize"][:]
assert sizes.sum() == clusters.counts["hit"]
sizes.mean()
