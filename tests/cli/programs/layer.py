"""Writes layer.mlir with JAX 0.10.2: one layer of a network, with the names of its arguments."""
import jax
import jax.numpy as jnp


def layer(params, x):
    hidden = x @ params["w"]
    return {"out": jnp.tanh(hidden + params["b"]), "norm": jnp.sum(hidden * hidden)}


if __name__ == "__main__":
    jax.config.update("jax_traceback_in_locations_limit", 1)
    params = {"w": jnp.ones((4, 8)), "b": jnp.ones(8)}
    with open("layer.mlir", "w") as file:
        text = jax.jit(layer).lower(params, jnp.ones((16, 4))).as_text(debug_info=True)
        file.write(text.replace(__file__, "layer.py"))
