#!/usr/bin/env python3
"""Writes the archives of this folder, with NumPy (pip install numpy). They are committed: tests need no NumPy."""
import os
import numpy as np

os.chdir(os.path.dirname(os.path.abspath(__file__)))
KINDS = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]
every = {f"a_{np.dtype(k).name}": np.arange(6).reshape(2, 3).astype(k) for k in KINDS}
np.savez("every.npz", **every, scalar=np.float32(2.5), empty=np.zeros((0, 4), "i4"))
np.savez_compressed("deflated.npz", **every, ramp=np.arange(4096, dtype="f4"))
x = np.array([[1, -2, 3, -4]], "f4")
np.savez("xy.npz", x=x, y=np.ones((1, 4), "f4"))
np.savez("x2.npz", x=np.concatenate([x, x]))
np.savez("unknown.npz", x=x, data=x)
np.savez("double.npz", x=x.astype("f8"), y=x)
np.savez("rank.npz", x=x[0], y=x)
np.savez("extent.npz", x=x[:, :3].copy(), y=x)
np.savez("contradict.npz", x=x, y=np.concatenate([x, x]))
np.savez("fortran.npz", x=np.asfortranarray(np.ones((2, 4), "f4")), y=np.ones((2, 4), "f4"))
np.savez("big_endian.npz", x=x.astype(">f4"), y=x)
np.savez("text.npz", x=np.array(["one", "two"]))
np.savez("nothing.npz")
