"""Writes shard_map.mlir with JAX 0.10.2: a computation over manual axes."""
import jax
import jax.numpy as jnp
from jax.sharding import AxisType, PartitionSpec as P


def block(x, w):
    h = jnp.tanh(x @ w)
    total = jax.lax.psum(h, "x")
    return h * total, jax.lax.pmean(jnp.sum(w), "y")


def layer(x, w):
    return jax.shard_map(
        block, mesh=MESH, in_specs=(P("x", None), P()), out_specs=(P("x"), P())
    )(x, w)


if __name__ == "__main__":
    jax.config.update("jax_num_cpu_devices", 8)
    MESH = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
    text = jax.jit(layer).lower(jnp.ones((8, 4)), jnp.ones((4, 4))).as_text(debug_info=True)
    with open("shard_map.mlir", "w") as file:
        file.write(text.replace(__file__, "shard_map.py"))
