"""Writes calls.mlir with JAX 0.10.2: a function that is called twice, and functions of JAX."""
import jax
import jax.numpy as jnp


@jax.jit
def layer(w, h):
    h = h @ w
    return jax.nn.relu(h)


def loss(p, x):
    h = layer(p["a"], x)
    h = layer(p["b"], h)
    h = jax.nn.relu(h) + jnp.var(h)
    return jnp.mean(h**2)


if __name__ == "__main__":
    p = {"a": jnp.ones((4, 4)), "b": jnp.ones((4, 4))}
    text = jax.jit(loss).lower(p, jnp.ones((8, 4))).as_text(debug_info=True)
    with open("calls.mlir", "w") as file:
        file.write(text.replace(__file__, "calls.py"))
