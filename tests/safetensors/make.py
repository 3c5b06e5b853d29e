#!/usr/bin/env python3
"""Writes the files beside it with Python's safetensors: pip install safetensors numpy ml_dtypes."""
import os

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

here = os.path.dirname(os.path.abspath(__file__))
dtypes = {
    "bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
}
# 0 to 5 in three rows, of every dtype.
save_file({name: np.arange(6).reshape(3, 2).astype(t) for name, t in dtypes.items()},
          os.path.join(here, "dtypes.safetensors"))
save_file({"scalar": np.array(2.5, np.float32), "none": np.zeros((0, 3), np.float32),
           "nobody": np.zeros((2, 0), np.int8), "größe \"x\"\n": np.array([7], np.int16)},
          os.path.join(here, "shapes.safetensors"), {"format": "np", "größe": "\"quoted\"\n"})
save_file({"layers.0.w": np.arange(48, dtype=np.float32).reshape(8, 6),
           "layers.0.b": np.arange(6, dtype=np.float16) / 4,
           "layers.1.w": -np.arange(48, dtype=np.float32).reshape(8, 6),
           "layers.1.b": np.arange(6, dtype=np.float16) / -4,
           "step": np.array(12, np.int32)}, os.path.join(here, "model.safetensors"))
save_file({}, os.path.join(here, "empty.safetensors"))
