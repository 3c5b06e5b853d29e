"""Writes model.mlir, JAX's text of model.py: JAX_PLATFORMS=cpu python make_model.py."""

import pathlib

import jax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

from model import model

jax.config.update("jax_num_cpu_devices", 8)
mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)


def argument(shape, *spec):
    return jax.ShapeDtypeStruct(shape, "float32", sharding=NamedSharding(mesh, P(*spec)))


w = {"a": argument((16, 32), None, "y"), "b": argument((32, 4))}
text = jax.jit(model).lower(argument((8, 16), "x"), w).as_text(debug_info=True)
here = pathlib.Path(__file__).resolve().parent
text = text.replace(str(here / "model.py"), "@FILE@").replace(
    str(here / "make_model.py"), "@CALLER@"
)
(here / "model.mlir").write_text(text)
