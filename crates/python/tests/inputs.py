"""A small input for each sequence."""

#: Sequence and input.
SMALL = {
    "velo": "sim:velo,events=12,seed=3",
    "velo-ut": "sim:lhcb,events=4,seed=5",
    "scifi": "sim:lhcb,events=4,seed=5",
    "long": "sim:lhcb,events=4,seed=5",
    "ut": "sim:lhcb,events=4,seed=5",
    "scifi-hits": "sim:lhcb,events=4,seed=5",
    "cylinder": "sim:cylinder,events=3,tracks=200,seed=2",
    "timepix": "sim:timepix,hits=20000,seed=4",
}
