#!/usr/bin/env python3
"""points.py: writes points.jsonl, values and two derivatives of functions where formulas fail: at 0,
at the ends of their domains, at the largest and smallest numbers of each dtype, and at their special
points. From mpmath, to more digits than any dtype has.

A line has the points of one function in one dtype, and the operand that derivatives are in. null
stands for a result that is not compared: a pole, a kink, or a point outside of the domain.
"""
import json, multiprocessing, os, signal, sys

import mpmath as mp
import numpy as np

from accuracy import TooLong, limit, owens_t

HERE = os.path.dirname(os.path.abspath(__file__))
DTYPES = {'f64': (53, -1022, 1023), 'f32': (24, -126, 127), 'f16': (11, -14, 15), 'bf16': (8, -126, 127)}
inf = float('inf')


def number(x, dtype):
    """The nearest number of a dtype."""
    if dtype == 'f64':
        return float(x)
    if dtype == 'f16':
        return float(np.float16(x))
    with np.errstate(over='ignore'):
        y = np.float32(x)
    if dtype == 'bf16' and np.isfinite(y):
        bits = y.view(np.uint32)
        bits = (int(bits) + 0x7fff + ((int(bits) >> 16) & 1)) & 0xffff0000
        y = np.uint32(bits).view(np.float32)
    return float(y)


def numbers(dtype):
    """The largest and smallest positive numbers, and those whose squares leave the range."""
    digits, least, most = DTYPES[dtype]
    largest = (2 - 2.0 ** (1 - digits)) * 2.0 ** most
    roots = [2.0 ** (most // 2 + 1), 2.0 ** (most // 2 + 2) * 1.5, 2.0 ** ((least - digits) // 2)]
    return [2.0 ** (least - digits + 1), 2.0 ** least, *roots, largest / 8, largest]


USUAL = [1e-8, 1e-3, 0.03, 0.25, 0.5, 1, 1.5, 2, 3, 7, 8.5, 20]


def positive(dtype):
    return numbers(dtype) + USUAL


def every(dtype):
    return [0.0] + [s * x for x in positive(dtype) for s in (1, -1)]


def around(*centres):
    """Points of an interval: its ends or special points, and numbers next to them."""
    def points(dtype):
        eps = 2.0 ** (1 - DTYPES[dtype][0])
        near = [c + d for c in centres for d in (-1e-3, -4 * eps, 0, 4 * eps, 1e-3)]
        return near + [0.1, -0.1, 0.75, -0.75, *(numbers(dtype)[i] for i in (0, 1, 4))]
    return points


def within(low, high, points=every):
    return lambda dtype: [x for x in points(dtype) if low <= x <= high]


def given(*xs):
    return lambda dtype: list(xs)


# ---- functions that mpmath lacks, or computes with few digits ----

def asymptotic(x, term):
    """The sum of term(k) / x^(2k) up to the smallest one."""
    total, k, last = mp.mpf(0), 0, mp.inf
    while k < 400:
        t = term(k) / x ** (2 * k)
        if abs(t) > last or abs(t) < mp.mpf(10) ** -(mp.mp.dps + 5):
            break
        total, last, k = total + t, abs(t), k + 1
    return total


def erfcx(x):
    if x < 40:
        with mp.workdps(mp.mp.dps + int(min(abs(x), 60) ** 2)):
            return mp.exp(x * x) * mp.erfc(x)
    return asymptotic(x, lambda k: (-1) ** k * mp.fac2(2 * k - 1) / mp.mpf(2) ** k) / (x * mp.sqrt(mp.pi))


def dawsn(x):
    if abs(x) < 40:
        with mp.workdps(mp.mp.dps + int(x * x)):
            return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)
    return asymptotic(x, lambda k: mp.fac2(2 * k - 1) / mp.mpf(2) ** k) / (2 * x)


def ndtr(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def log_ndtr(x):
    if x < -10:
        return mp.log(erfcx(-x / mp.sqrt(2)) / 2) - x * x / 2
    return mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2) if x > 0 else mp.log(ndtr(x))


def quotient(f, at_zero):
    return lambda x: mp.mpf(at_zero) if x == 0 else f(x) / x


def log1p(x):
    return mp.log1p(x) if abs(x) > 1e-30 else x - x * x / 2 + x ** 3 / 3


def logistic(x):
    return 1 / (1 + mp.exp(-x))


def softplus(x):
    return max(x, mp.mpf(0)) + mp.log1p(mp.exp(-abs(x)))


def mish(x):
    return x * mp.tanh(softplus(x))


def gelu(x):
    return x * logistic(mp.sqrt(8 / mp.pi) * (x + mp.mpf(0.044715) * x ** 3))


def gelu_exact(x):
    return x * mp.erfc(-x / mp.sqrt(2)) / 2


def spence(x):
    return mp.re(mp.polylog(2, 1 - x)) if abs(x - 1) < 1 else -mp.re(mp.quad(lambda t: mp.log(t) / (t - 1), [1, x]))


def atan2(a, b):
    if b > 0:
        return mp.atan(a / b)
    return mp.sign(a) * mp.pi / 2 - mp.atan(b / a)


def power(a, b):
    if a < 0:
        return (-a) ** b * (1 if int(b) % 2 == 0 else -1)
    return a ** b


def box(log):
    def f(x, l):
        if l == 0:
            return log(x)
        # Whole powers have derivatives at x = 0.
        return (power(x, l) - 1) / l if log is mp.log and l in (1, 2) else mp.expm1(l * log(x)) / l
    return f


def igamma(a, x):
    return mp.gammainc(a, 0, x, regularized=True) if x < a + 1 else 1 - mp.gammainc(a, x, mp.inf, regularized=True)


def poch(z, m):
    return mp.rf(z, m)


def betainc(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def log_beta(a, b):
    return mp.re(mp.log(abs(mp.beta(a, b))))


# The kinds of steps of differences: a part of x, of max(1, |x|), or a length.
REL, MAX1, ABS = 'rel', 'max1', 'abs'
TINY = 1e-30

# name: the function, the points of each operand, the step, and the number of digits. Derivatives are
# in the first operand with a list of more than one point, or in `operand`.
F = {}


def add(name, f, points, step=MAX1, digits=90, others=(), operand=0, kinks=(), ends={}, orders=2, floor=0, constant=False,
        dtypes=tuple(DTYPES)):
    """floor: the size of a slope that a function loses where it approaches a constant, as tanh does.
    others: the other operands, in order. kinks: points without derivatives. ends: values there."""
    F[name] = dict(f=f, points=points, step=step, digits=digits, others=others, operand=operand,
                   kinks=kinks, ends=ends, orders=orders, floor=floor,
                   constant=constant,
                   dtypes=dtypes)


TWICE = lambda t: every(t)[:-len(USUAL) * 2 - 2] + every(t)[-len(USUAL) * 2:]  # twice the largest is infinite
add('exp', mp.exp, every, ABS, 700, ends={inf: inf, -inf: 0})
add('exp2', lambda x: mp.exp(x * mp.log(2)), every, ABS, 700, ends={inf: inf, -inf: 0})
add('expm1', mp.expm1, every, ABS, 700, ends={inf: inf, -inf: -1}, floor=1)
add('log', mp.log, positive, REL, ends={inf: inf, 0.0: -inf})
add('log2', lambda x: mp.log(x, 2), positive, REL, ends={inf: inf, 0.0: -inf})
add('log10', mp.log10, positive, REL, ends={inf: inf, 0.0: -inf})
add('log1p', log1p, within(-0.75, inf), MAX1, ends={inf: inf, -1.0: -inf})
add('sqrt', mp.sqrt, positive, REL, ends={inf: inf, 0.0: 0})
add('rsqrt', lambda x: 1 / mp.sqrt(x), positive, REL, ends={inf: 0, 0.0: inf})
add('cbrt', lambda x: mp.sign(x) * mp.cbrt(abs(x)), every, REL, kinks=(0,), ends={inf: inf, -inf: -inf})
add('sin', mp.sin, every, ABS, 700)
add('cos', mp.cos, every, ABS, 700)
add('tan', mp.tan, within(-1.5, 1.5), ABS)
add('asin', mp.asin, around(0, 0.5, 0.9, -0.9), ABS)
add('acos', mp.acos, around(0, 0.5, 0.9, -0.9), ABS)
add('atan', mp.atan, every, ends={inf: mp.pi / 2, -inf: -mp.pi / 2})
add('sinh', mp.sinh, every, ABS, 700, ends={inf: inf, -inf: -inf})
add('cosh', mp.cosh, every, ABS, 700, ends={inf: inf, -inf: inf})
add('tanh', mp.tanh, every, ends={inf: 1, -inf: -1}, floor=1)
add('asinh', mp.asinh, every, ends={inf: inf, -inf: -inf})
add('acosh', mp.acosh, within(1.5, inf), ends={inf: inf, 1.0: 0})
add('atanh', mp.atanh, around(0, 0.5, 0.9, -0.9), ABS, ends={1.0: inf, -1.0: -inf})
add('erf', mp.erf, every, ends={inf: 1, -inf: -1})
add('erfc', mp.erfc, every, ends={inf: 0, -inf: 2})
add('erf_inv', mp.erfinv, around(0, 0.5, 0.9, -0.9), ABS, 50, ends={1.0: inf, -1.0: -inf})
add('lgamma', lambda x: mp.log(abs(mp.gamma(x))), given(0.25, 0.5, 1, 1.5, 2, 3, 10, 30.5, -0.5, -1.5),
    ABS, 60, ends={inf: inf, 0.0: inf, -1.0: inf})
add('digamma', lambda x: mp.psi(0, x), given(0.25, 0.5, 1, 1.5, 2, 3, 10, 30.5, -0.5, -1.5), ABS, 60,
    ends={inf: inf})
add('logistic', logistic, every, ABS, 90, ends={inf: 1, -inf: 0}, floor=1)
add('bessel_i0e', lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), within(-100, 100), REL, kinks=(0,),
    ends={inf: 0, -inf: 0, 0.0: 1})
add('bessel_i1e', lambda x: mp.exp(-abs(x)) * mp.besseli(1, x), within(-100, 100), REL,
    ends={inf: 0, -inf: 0}, orders=1)
add('square', lambda x: x * x, every, ends={inf: inf, -inf: inf})
add('reciprocal', lambda x: 1 / x, every, REL, kinks=(0,), ends={inf: 0, -inf: 0})
add('sinc', quotient(lambda x: mp.sinpi(x) / mp.pi, 1), within(-1e3, 1e3), ABS)
add('softplus', softplus, every, ABS, 90, ends={inf: inf, -inf: 0}, floor=1)
add('silu', lambda x: x * logistic(x), every, ABS, 90, ends={inf: inf}, floor=1)
add('gelu', gelu, every, ABS, 90, ends={inf: inf}, floor=10)  # the logistic function's slope is scaled
add('gelu_exact', gelu_exact, every, ABS, 90, ends={inf: inf}, floor=1)
add('mish', mish, TWICE, ABS, 90, ends={inf: inf}, floor=1)
add('log_sigmoid', lambda x: -softplus(-x), every, ABS, 90, ends={inf: 0, -inf: -inf}, floor=1)
add('soft_sign', lambda x: x / (1 + abs(x)), every, REL, kinks=(0,))
add('squareplus', lambda x: (x + mp.sqrt(x * x + 4)) / 2 if x > -1e9 else -1 / x, every, MAX1, 300)
add('elu', lambda x: mp.expm1(x) if x < 0 else x, every, REL, 700, kinks=(0,), floor=1)
add('log1mexp', lambda x: mp.log(-mp.expm1(-x)), positive, REL, 1400, ends={inf: 0, 0.0: -inf})
add('logaddexp', lambda x, y: max(x, y) + mp.log1p(mp.exp(-abs(x - y))), every, ABS, 90, others=(1,),
    ends={inf: inf, -inf: 1}, floor=1)
add('hypot', lambda x, y: mp.hypot(x, y), every, others=(1,), ends={inf: inf, -inf: inf})
for b in (0, 1, 2, 3, 0.5, 2.5, -1):
    add(f'pow.{b}', power, every if b == int(b) else positive, MAX1 if b in (0, 1, 2, 3) else REL, 90,
        others=(b,), constant=b in (0, 1), kinks=() if b in (0, 1, 2, 3) else (0,))
add('pow.exponent', power, given(0, 1, 2, -1, 0.5, 3), ABS, 60, others=(2,), operand=1)
for name, other in (('one', 1.0), ('small', 'small'), ('large', 'large')):
    add(f'atan2.first.{name}', atan2, every, 'pair', 90, others=(other,), operand=0)
    add(f'atan2.second.{name}', atan2, every, 'pair', 90, others=(other,), operand=1)

add('gamma', mp.gamma, given(0.25, 0.5, 1, 2, 3, 4, 10, 30, -0.5, -1.5, 1e-3, 7.5), ABS, 60,
    ends={inf: inf, 0.0: inf})
add('loggamma', mp.loggamma, given(0.25, 0.5, 1, 2, 3, 4, 10, 30, 1e-3, 7.5), ABS, 60, ends={inf: inf})
add('factorial', mp.factorial, given(0, 1, 2, 3, 5, 0.5, 7.5), ABS, 60, ends={inf: inf, -2.0: 0})
add('logit', lambda p: mp.log(p) - mp.log1p(-p), within(0, 1, around(0.25, 0.5, 0.9)), REL, 400,
    ends={0.0: -inf, 1.0: inf})
add('expit', logistic, every, ABS, 90, ends={inf: 1, -inf: 0}, floor=1)
add('entr', lambda x: -x * mp.log(x), positive, REL, 90, ends={0.0: 0, -1.0: -inf})
add('ndtr', ndtr, every, ABS, 90, ends={inf: 1, -inf: 0})
add('log_ndtr', log_ndtr, lambda t: every(t) + [-1e-30, -30, -9.9, -5, 5], MAX1, 90,
    ends={inf: 0, -inf: -inf})
add('ndtri', lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), within(0, 1, around(0.25, 0.5, 0.9)), ABS, 60,
    ends={0.0: -inf, 1.0: inf})
add('erfcx', erfcx, lambda t: [x for x in every(t) if x > -25] + [25.0, 27, 100, 1e4], MAX1, 90,
    ends={inf: 0, -inf: inf})
add('dawsn', dawsn, every, MAX1, 90, ends={inf: 0, -inf: 0})
add('wofz.re', lambda x: mp.exp(-x * x), within(-4, 4), MAX1, 90, dtypes=('f64', 'f32'))
add('wofz.im', lambda x: 2 / mp.sqrt(mp.pi) * dawsn(x), TWICE, MAX1, 90, dtypes=('f64', 'f32'))
BESSEL = lambda t: within(-80, 80)(t) + {'f64': [700, -700, 713], 'f32': [85, 90]}.get(t, [])
add('i0', lambda x: mp.besseli(0, x), BESSEL, ABS, 60, ends={inf: inf, -inf: inf})
add('i1', lambda x: mp.besseli(1, x), BESSEL, ABS, 60, ends={inf: inf, -inf: -inf})
for v in (0, 1, 3):
    add(f'bessel_jn.{v}', lambda x, v=v: mp.besselj(v, x), lambda t: within(-1e3, 1e3)(t) + [200, 29, 31, -50, 60],
        ABS, 60, ends={inf: 0, -inf: 0})
add('expi', mp.ei, lambda t: within(-80, 80)(t) + {'f64': [712], 'f32': [90]}.get(t, []), REL, 60,
    kinks=(0,), ends={0.0: -inf, inf: inf, -inf: 0})
add('exp1', mp.e1, within(TINY, 80, positive), REL, 60, ends={0.0: inf, inf: 0})
for n in (0, 1, 2, 3, 5):
    add(f'expn.{n}', lambda n, x: mp.expint(n, x), within(1e-3, 80, positive), REL, 60, others=(n,), operand=1,
        ends={inf: 0, 0.0: inf if n < 2 else 1 / mp.mpf(n - 1)})
add('spence', spence, lambda t: [1.0, 0.999, 1.001, 1 + 2 ** -7, 0.5, 0.25, 1.25, 1.5, 2.0, 2.5, 0.01, 7, 100],
    REL, 40, ends={0.0: mp.pi ** 2 / 6, -1.0: float('nan')})
add('sici.sine', lambda x: mp.si(x), within(-1e3, 1e3), ABS, 60, ends={inf: mp.pi / 2, -inf: -mp.pi / 2})
add('sici.cosine', mp.ci, within(1e-8, 1e3, positive), REL, 60, ends={inf: 0, 0.0: -inf})
add('fresnel.sine', mp.fresnels, within(-30, 30), ABS, 60, ends={inf: 0.5, -inf: -0.5})
add('fresnel.cosine', mp.fresnelc, within(-30, 30), ABS, 60, ends={inf: 0.5, -inf: -0.5})

add('xlogy.first', lambda x, y: x * mp.log(y), every, MAX1, 90, others=(3,), operand=0)
add('xlogy.second', lambda x, y: x * mp.log(y), positive, REL, 90, others=(2,), operand=1)
add('xlogy.zero', lambda x, y: mp.mpf(0), lambda t: [0.0] + positive(t), MAX1, 90, others=(0,), operand=1, constant=True)
add('xlog1py.first', lambda x, y: x * log1p(y), every, MAX1, 90, others=(3,), operand=0)
add('xlog1py.second', lambda x, y: x * log1p(y), within(-0.75, inf), MAX1, 90, others=(2,), operand=1)
add('rel_entr.first', lambda p, q: p * mp.log(p / q), positive, REL, 90, others=(2,), operand=0)
add('rel_entr.second', lambda p, q: p * mp.log(p / q), positive, REL, 90, others=(2,), operand=1)
add('kl_div.first', lambda p, q: p * mp.log(p / q) - p + q, positive, REL, 90, others=(2,), operand=0,
    ends={inf: inf})
add('kl_div.second', lambda p, q: p * mp.log(p / q) - p + q, positive, REL, 90, others=(2,), operand=1,
    ends={0.0: inf})
for l in (0, 1, 2, 0.5, -1):
    add(f'boxcox.{l}', box(mp.log), lambda t: within(0, 1e3, positive)(t) + ([0.0] if l in (1, 2) else []), REL, 90, others=(l,))
    add(f'boxcox1p.{l}', box(log1p), within(-0.75, 1e3), MAX1, 90, others=(l,))
for x in (0.5, 1, 3):
    add(f'boxcox.lambda.{x}', box(mp.log), within(-8, 8), ABS, 90, others=(x,), operand=1)
    add(f'boxcox1p.lambda.{x}', box(log1p), within(-8, 8), ABS, 90, others=(x,), operand=1)
for a in (0.5, 1, 2, 3, 4.5):
    whole = a == int(a)
    points = lambda t, whole=whole: ([0.0] if whole else []) + within(0, 30, positive)(t)
    # Differences to both sides of 0: the function of whole shapes is entire.
    add(f'igamma.{a}', (lambda a, x: 1 - mp.exp(-x) * mp.fsum(x ** k / mp.factorial(k) for k in range(int(a))))
        if whole else igamma, points, REL if not whole else MAX1, 400 if whole else 60, others=(a,), operand=1)
    add(f'igammac.{a}', (lambda a, x: mp.exp(-x) * mp.fsum(x ** k / mp.factorial(k) for k in range(int(a))))
        if whole else (lambda a, x: 1 - igamma(a, x)), points, REL if not whole else MAX1, 400 if whole else 60, others=(a,),
        operand=1)
for a, b in ((1, 1), (1, 2), (2, 1), (2, 3), (3, 2), (0.5, 1)):
    ends = [x for x, n in ((0.0, a), (1.0, b)) if n == int(n)]
    add(f'betainc.{a}.{b}', lambda a, b, x: betainc(a, b, x), lambda t, ends=ends: ends + [1e-3, 0.25, 0.5, 0.75, 0.999],
        'beta', 60, others=(a, b), operand=2)
for name, f in (('betaln', log_beta), ('beta', mp.beta)):
    add(name, f, given(0.5, 1, 2, 3, 9, 20.5, 150), ABS, 60, others=(2,),
        ends={inf: -inf if name == 'betaln' else 0})
    add(f'{name}.poles', f, given(), ABS, 60, others=(1,), ends={
        -2.0: mp.log(mp.mpf(1) / 2) if name == 'betaln' else mp.mpf(-1) / 2,
        -1.0: 0 if name == 'betaln' else -1, -5.0: mp.log(mp.mpf(1) / 5) if name == 'betaln' else mp.mpf(-1) / 5})
add('comb.first', mp.binomial, given(3, 4, 5, 8, 4.5), ABS, 60, others=(2,))
add('comb.second', mp.binomial, given(0, 1, 2, 3, 1.5), ABS, 60, others=(5,), operand=1)
add('poch.first', poch, lambda t: [0.5, 1, 2, 3, 9.5] + ([200] if t == 'f64' else []), ABS, 60, others=(0.5,))
add('poch.second', poch, lambda t: [0, 0.5, 1, 2, 3], ABS, 60, others=(2,), operand=1)
add('poch.large', poch, lambda t: [0.5, 1, 2, 3, -3, 20] if t in ('f64', 'f32') else [0.5, 1, -2], ABS, 60, others=(200,), operand=1)
add('poch.whole', poch, given(-3, -2.5, -4, -10), ABS, 60, others=(2,), orders=0)
add('owens_t.first', owens_t, within(-8, 8), ABS, 40, others=(0.5,))
add('owens_t.second', lambda h, a: owens_t(h, a), within(0.1, 8, positive), ABS, 40, others=(0.5,), operand=1)
add('hyp1f1', lambda a, b, x: mp.hyp1f1(a, b, x), within(-20, 20), ABS, 60, others=(1.5, 2.5), operand=2, orders=1)
add('hyp2f1', lambda a, b, c, x: mp.hyp2f1(a, b, c, x), given(0, 1e-8, 0.25, -0.25, 0.5, -0.75), ABS, 60,
    others=(1.5, 0.5, 2.5), operand=3, orders=1)


# ---- values and derivatives ----

def step_of(entry, x, others, h):
    kind = entry['step']
    if kind == REL or (kind == 'beta' and 0 < x < 1):
        return h * (min(abs(x), 1 - x) if kind == 'beta' else abs(x))
    if kind == 'pair':
        return h * max(abs(x), abs(others[0]))
    return h * max(1, abs(x)) if kind == MAX1 else h


def results(entry, x, others):
    """The value and the derivatives, with None for those that are not compared."""
    f = lambda v: mp.mpf(mp.re(entry['f'](*others[:entry['operand']], v, *others[entry['operand']:])))
    middle = f(x)
    if float(x) in entry['kinks'] or entry['orders'] == 0:
        return [middle, None, None]
    coarse, fine = (differences(entry, f, x, others, middle, mp.mpf(10) ** -k) for k in (20, 22))
    # Differences that have no digits left are not compared.
    made = [None if b == 0 and x != 0 and not entry['constant'] else
            b if b == a or abs(a - b) < 1e-12 * abs(b) else None for a, b in zip(coarse, fine)]
    made[0] = middle
    return made[:entry['orders'] + 1] + [None] * (2 - entry['orders'])


def differences(entry, f, x, others, middle, unit):
    h = step_of(entry, x, others, unit)
    if entry['step'] == 'beta' and x in (0, 1):  # a polynomial, at an end of its interval
        a, b = others
        side = lambda v: mp.re(mp.quad(lambda t: t ** (a - 1) * (1 - t) ** (b - 1), [0, v]) / mp.beta(a, b))
        density = lambda v: v ** (a - 1) * (1 - v) ** (b - 1) / mp.beta(a, b)
        s = h if x == 0 else -h
        return [middle, density(x), (-3 * density(x) + 4 * density(x + s) - density(x + 2 * s)) / (2 * s)]
    above, below = f(x + h), f(x - h)
    made = [middle, (above - below) / (2 * h), (above - 2 * middle + below) / (h * h)]
    return made


def exact(job):
    name, x, others = job
    entry = F[name]
    signal.signal(signal.SIGALRM, limit)
    signal.alarm(30)
    try:
        with mp.workdps(entry['digits']):
            made = results(entry, mp.mpf(x), [mp.mpf(v) for v in others])
        return [None if v is None or mp.isnan(v) else mp.nstr(v, 30) for v in made]
    except (TooLong, ValueError, ZeroDivisionError, ArithmeticError, TypeError, NotImplementedError):
        return [None, None, None]
    finally:
        signal.alarm(0)


def written(v, dtype):
    """A result as text that JSON keeps: numbers beyond the range are infinite."""
    if v is None:
        return None
    v = mp.mpf(v)
    if mp.isnan(v):
        return 'nan'
    largest = mp.mpf(2) ** (DTYPES[dtype][2] + 1)
    return ('inf' if v > 0 else '-inf') if abs(v) >= largest else float(v)


def line_of(name, dtype, pool):
    entry = F[name]
    scale = {'small': numbers(dtype)[1], 'large': numbers(dtype)[4]}
    others = [number(scale.get(v, v), dtype) for v in entry['others']]
    points = list(dict.fromkeys(number(x, dtype) for x in entry['points'](dtype)))
    points = [x for x in points if np.isfinite(x)]
    made = pool.map(exact, [(name, x, others) for x in points], chunksize=1)
    for x, y in entry['ends'].items():
        points.append(x)
        made.append([mp.mpf(y), None, None])
    keep = [i for i, m in enumerate(made) if m[0] is not None]
    return {'name': name, 'dtype': dtype, 'operand': entry['operand'], 'others': others,
            'floor': entry['floor'], 'orders': entry['orders'], 'points': [points[i] if np.isfinite(points[i]) else str(points[i]) for i in keep],
            'wanted': [[written(v, dtype) for v in made[i]] for i in keep]}


def main():
    names = sys.argv[1:] or list(F)
    path = f'{HERE}/points.jsonl'
    kept = {}
    if sys.argv[1:] and os.path.exists(path):
        kept = {(l['name'], l['dtype']): l for l in map(json.loads, open(path))}
    with multiprocessing.Pool(2) as pool:
        for name in names:
            for dtype in F[name]['dtypes']:
                kept[name, dtype] = line = line_of(name, dtype, pool)
                print(name, dtype, len(line['points']), file=sys.stderr)
    with open(path, 'w') as out:
        for name in F:
            for dtype in DTYPES:
                if (name, dtype) in kept:
                    out.write(json.dumps(kept[name, dtype]) + '\n')


if __name__ == '__main__':
    main()
