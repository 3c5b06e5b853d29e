#!/usr/bin/env python3
"""random_special.py COUNT [SEED]: random calls of special functions with JAX's values, one line each
to standard output, for special_calls.

Operands have random dtypes, and shapes that broadcast; numbers are of the usual size, of many
exponents, or special. Calls of which JAX has no gradient have none; calls that JAX refuses are left out.
"""
import json, random, sys

import values as V
from values import jax, jnp, jsp, lax, np

UP, ANY, UNIT, SMALL = 'up', 'any', 'unit', 'small'
FUNCTIONS = {
    'gamma': ('jsp.gamma(a)', [SMALL]), 'gammasgn': ('jsp.gammasgn(a)', [ANY]),
    'loggamma': ('jsp.loggamma(a)', [ANY]), 'betaln': ('jsp.betaln(a, b)', [UP, UP]),
    'beta': ('jsp.beta(a, b)', [UP, UP]), 'factorial': ('jsp.factorial(a)', [UP]),
    'comb': ('jsp.comb(a, b)', [UP, UP]), 'poch': ('jsp.poch(a, b)', [UP, UP]),
    'igamma': ('lax.igamma(*jnp.broadcast_arrays(a, b))', [UP, UP]),
    'igammac': ('lax.igammac(*jnp.broadcast_arrays(a, b))', [UP, UP]),
    'igamma_grad_a': ('lax.igamma_grad_a(*jnp.broadcast_arrays(a, b))', [UP, UP]),
    'random_gamma_grad': ('lax.random_gamma_grad(a, b)', [UP, UP]),
    'betainc': ('jsp.betainc(a, b, c)', [UP, UP, UNIT]),
    'xlogy': ('jsp.xlogy(a, b)', [ANY, ANY]), 'xlog1py': ('jsp.xlog1py(a, b)', [ANY, ANY]),
    'logit': ('jsp.logit(a)', [UNIT]), 'expit': ('jsp.expit(a)', [ANY]),
    'entr': ('jsp.entr(a)', [ANY]), 'rel_entr': ('jsp.rel_entr(a, b)', [UP, UP]),
    'kl_div': ('jsp.kl_div(a, b)', [UP, UP]), 'boxcox': ('jsp.boxcox(a, b)', [UP, SMALL]),
    'boxcox1p': ('jsp.boxcox1p(a, b)', [UP, SMALL]), 'ndtr': ('jsp.ndtr(a)', [ANY]),
    'log_ndtr': ('jsp.log_ndtr(a)', [ANY]), 'ndtri': ('jsp.ndtri(a)', [UNIT]),
    'erfcx': ('jsp.erfcx(a)', [SMALL]), 'dawsn': ('jsp.dawsn(a)', [ANY]),
    'wofz': ('jsp.wofz(a)', [SMALL]), 'owens_t': ('jsp.owens_t(a, b)', [SMALL, SMALL]),
    'i0': ('jsp.i0(a)', [SMALL]), 'i1': ('jsp.i1(a)', [SMALL]), 'expi': ('jsp.expi(a)', [SMALL]),
    'exp1': ('jsp.exp1(a)', [UP]), 'spence': ('jsp.spence(a)', [UP]),
    'sici': ('jsp.sici(a)', [SMALL]), 'fresnel': ('jsp.fresnel(a)', [SMALL]),
    'hyp1f1': ('jsp.hyp1f1(a, b, c)', [UP, UP, UP]),
    'hyp2f1': ('jsp.hyp2f1(a, b, c, d)', [UP, UP, UP, UNIT]),
}
TOLERANCE = {'f64': 1e-8, 'f32': 2e-3, 'f16': 4e-2, 'bf16': 2e-1}


def number(kind, rng, special):
    if kind == UNIT:
        return rng.choice([0, 1]) if rng.random() < special else rng.uniform(0.02, 0.95)
    if rng.random() < special:
        return rng.choice([0.0, 1.0, -1.0, float('nan'), float('inf')])
    if kind == UP:
        return rng.uniform(0.3, 6)
    if kind == SMALL:
        return rng.uniform(-4, 4)
    return 10 ** rng.uniform(-6, 6) * rng.choice((-1, 1))


def case(rng):
    name = rng.choice(list(FUNCTIONS))
    code, kinds = FUNCTIONS[name]
    dtype = rng.choice(['f64', 'f64', 'f32', 'f32', 'f16', 'bf16'])
    shape = [rng.choice([1, 2, 3, 4]) for _ in range(rng.randint(0, 2))]
    special = rng.choice([0, 0, 0.3])
    xs = []
    for kind in kinds:
        own = [rng.choice([n, 1]) for n in shape] if len(kinds) > 1 else shape
        data = [number(kind, rng, special) for _ in range(int(np.prod(own)))]
        xs.append(jnp.asarray(np.asarray(data).reshape(own)).astype(V.NAMES[dtype]))
    call = eval('lambda ' + ', '.join('abcd'[:len(xs)]) + ': ' + code, dict(jnp=jnp, jsp=jsp, lax=lax))

    def results(*xs):
        made = call(*xs)
        return list(made) if isinstance(made, tuple) else [made]

    try:
        made = results(*xs)
    except TypeError:  # JAX refuses the dtype
        return None
    cts = [jnp.asarray(np.cos(np.arange(y.size) + 1.0).reshape(y.shape)).astype(y.real.dtype)
           for y in made]
    line = {'call': name, 'tolerance': TOLERANCE[dtype], 'arguments': [V.written(x) for x in xs],
            'results': [V.written(y) for y in made], 'cotangents': [V.written(c) for c in cts]}
    if special:
        return line
    try:
        loss = lambda *xs: sum(jnp.sum((y * c).real).astype('float64') for y, c in zip(results(*xs), cts))
        line['gradients'] = [V.written(g) for g in jax.grad(loss, list(range(len(xs))))(*xs)]
    except Exception:
        pass
    return line


def is_argued(made):
    """Whether JAX's result is known to be wrong."""
    name, types = made['call'], [a['type'] for a in made['arguments']]
    if name == 'owens_t':
        return not types[0].startswith('f64')  # JAX gives f64
    if name in ('sici', 'expi', 'exp1', 'poch', 'hyp2f1'):
        return 'f16' in types[0]  # JAX computes in 16 bits: overflows, and gradients far off
    if name in ('igamma', 'igammac', 'igamma_grad_a', 'random_gamma_grad'):
        return any('inf' in str(v) for a in made['arguments'] for v in a['data'])  # JAX: NaN
    return False


def main():
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    left = int(sys.argv[1])
    while left > 0:
        line = case(rng)
        if line and not is_argued(line):
            print(json.dumps(line))
            left -= 1


if __name__ == '__main__':
    main()
