"""Tools on JAX's programs: why values are sharded as they are, what moves, and the numbers.

program = tessera.load(jax.jit(f).lower(x))
print(program.explain("h"))
print(program.comm(), program.peak())
y = program.run(x)
"""

from tessera._library import (
    ArgumentError,
    DTypeError,
    Error,
    InternalError,
    RuntimeError,
    ShapeError,
    ShardingError,
    TraceError,
    version,
)
from tessera._program import Collective, Comm, Costs, Program, Types, check, load

__all__ = [
    "ArgumentError",
    "Collective",
    "Comm",
    "Costs",
    "DTypeError",
    "Error",
    "InternalError",
    "Program",
    "RuntimeError",
    "ShapeError",
    "ShardingError",
    "TraceError",
    "Types",
    "check",
    "load",
    "version",
]
