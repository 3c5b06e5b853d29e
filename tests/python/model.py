"""A model whose text is model.mlir."""

import jax
import jax.numpy as jnp


@jax.jit
def layer(h, w):
    h = jnp.tanh(h)
    return jnp.dot(h, w)


def model(x, w):
    y = layer(x @ w["a"], w["b"])
    for _ in range(2):
        y = jnp.add(
            y,
            1,
        )
    return jnp.sum(y), jax.lax.fori_loop(0, 3, lambda _, c: c * y, y)
