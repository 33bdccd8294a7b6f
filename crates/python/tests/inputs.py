"""A small input for each sequence."""

from peloton import _native

#: Those that are not for the raw banks of LHCb.
_OTHER = {
    "velo": "sim:velo,events=12,seed=3",
    "cylinder": "sim:cylinder,events=3,tracks=200,seed=2",
    "cylinder-fit": "sim:cylinder,events=3,tracks=200,seed=2",
    "timepix": "sim:timepix,hits=20000,seed=4",
}

#: Sequence and input, of every sequence that has its own algorithms.
SMALL = {name: _OTHER.get(name, "sim:lhcb,events=4,seed=5") for name in _native.SEQUENCES if name != "own"}
