#!/usr/bin/env python3
"""accuracy.py: writes accuracy.jsonl, values of special functions to 50 digits (mpmath), with JAX's
errors at the same points.

Run it where JAX 0.10.2 and mpmath are installed, on a CPU. Points are random numbers of all
exponents, numbers of the usual size, and special ones, for which JAX's results are wanted.
"""
import json, math, multiprocessing, os, queue, random, signal, sys

os.environ['JAX_PLATFORMS'] = 'cpu'
import mpmath as mp
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
mp.mp.dps = 50
BITS = {'f32': (24, -126, 128), 'f64': (53, -1022, 1024)}


class TooLong(Exception):
    pass


def limit(*_):
    raise TooLong


# ---- the functions: a call of JAX, the exact function, and the ranges of its operands ----

def tail(a, x, upper):
    """The integral of the gamma distribution's density beyond x."""
    a, x = mp.mpf(a), mp.mpf(x)
    log_gamma, width = mp.loggamma(a), 1 / mp.sqrt(a) / 2
    step = 4 / max((1 - (a - 1) / x) if upper else ((a - 1) / x - 1), width)
    ends = [x]
    while len(ends) < 40 and ends[-1] > 0:
        ends.append(ends[-1] + step if upper else max(ends[-1] - step, mp.mpf(0)))
    return mp.quad(lambda t: mp.exp((a - 1) * mp.log(t) - t - log_gamma), sorted(ends))


def igamma(a, x):
    if a < 3e4:
        return mp.gammainc(a, 0, x, regularized=True)
    return tail(a, x, False) if x <= a else 1 - tail(a, x, True)


def igammac(a, x):
    if a < 3e4:
        return mp.gammainc(a, x, mp.inf, regularized=True)
    return tail(a, x, True) if x > a else 1 - tail(a, x, False)


def igamma_grad_a(a, x):
    with mp.workdps(90):
        h = a * mp.mpf(10) ** -25
        f, sign = (igammac, -1) if x > a else (igamma, 1)
        return sign * (f(a + h, x) - f(a - h, x)) / (2 * h)


def random_gamma_grad(a, x):
    return -igamma_grad_a(a, x) / mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))


def log_ndtr(x):
    return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)


def ndtri(p):
    if not 0 < p < 1:
        raise ValueError
    with mp.workdps(400 if p < 1e-20 else 60):
        return mp.sqrt(2) * mp.erfinv(2 * p - 1)


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x) if x < 1000 else 1 / (x * mp.sqrt(mp.pi)) * (1 - 1 / (2 * x * x))


def dawsn(x):
    if abs(x) > 1000:
        return 1 / (2 * x) + 1 / (4 * x ** 3)
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def xlog(log):
    return lambda x, y: mp.mpf(0) if x == 0 else x * log(y)


def positive(f):
    def g(x, *rest):
        if not x > 0:
            raise ValueError
        return f(x, *rest)
    return g


def owens_t(h, a):
    with mp.workdps(60):
        h, s, a = abs(h), mp.sign(a), abs(a)
        if a > 1:
            u, v = h / mp.sqrt(2), a * h / mp.sqrt(2)
            e, f = mp.erfc(u), mp.erfc(v)
            return s * ((e + f - e * f) / 4 - owens_t(a * h, 1 / a))
        if h > 40:
            return mp.mpf(0)
        end = min(a, 15 / h) if h > 0 else a
        f = lambda t: mp.exp(-h * h * t * t / 2) / (1 + t * t)
        return s * mp.exp(-h * h / 2) * mp.quad(f, mp.linspace(0, end, 6)) / (2 * mp.pi)


def fresnel(f):
    def g(x):
        if abs(x) > 1e8:
            raise ValueError
        with mp.workdps(70):
            return f(x)
    return g


def sph(part):
    def f(n, m, theta, phi):
        n, m = int(n), int(m)
        y = mp.sqrt((2 * n + 1) / (4 * mp.pi) * mp.factorial(n - abs(m)) / mp.factorial(n + abs(m)))
        y *= mp.re(mp.legenp(n, abs(m), mp.cos(theta), type=2)) * (-1 if m < 0 and m % 2 else 1)
        return y * (mp.cos if part == 're' else mp.sin)(m * phi)
    return f


def wofz(part):
    def f(x, y):
        z = mp.mpc(x, y)
        if abs(z) > 1e3:
            w = 1j / (mp.sqrt(mp.pi) * z) * (1 + 1 / (2 * z * z) + 3 / (4 * z ** 4) + 15 / (8 * z ** 6))
        else:
            with mp.workdps(80 + int(abs(z) ** 2)):
                w = mp.exp(-z * z) * mp.erfc(-1j * z)
        return getattr(w, 'real' if part == 're' else 'imag')
    return f


def real(lo, hi, negative=True):
    """Random numbers of sizes between 10^lo and 10^hi."""
    return lambda r: 10 ** r.uniform(lo, hi) * (r.choice((-1, 1)) if negative else 1)


def span(lo, hi):
    return lambda r: r.uniform(lo, hi)


def whole(lo, hi):
    return lambda r: r.randint(lo, hi)


def either(*makers):
    return lambda r: r.choice(makers)(r)


UP = real(-3, 2, False)  # the usual positive numbers
ANY = 'any'  # all exponents
FUNCTIONS = {
    'gamma': ('jsp.gamma(a)', mp.gamma, [either(ANY, real(-2, 1), span(-30, 171))]),
    'loggamma': ('jsp.loggamma(a)', positive(mp.loggamma), [either(ANY, UP, span(0.5, 3))]),
    'betaln': ('jsp.betaln(a, b)', lambda a, b: mp.log(mp.beta(a, b)), [UP, UP]),
    'beta': ('jsp.beta(a, b)', mp.beta, [span(0.05, 20), span(0.05, 20)]),
    'factorial': ('jsp.factorial(a)', lambda a: mp.factorial(a) if a >= 0 else mp.mpf(0),
                  [either(span(0, 33), whole(0, 33))]),
    'comb': ('jsp.comb(a, b)', mp.binomial, [whole(10, 60), whole(0, 10)]),
    'poch': ('jsp.poch(a, b)', mp.rf, [span(0.1, 15), span(0.1, 10)]),
    'igamma': ('lax.igamma(a, b)', igamma, [UP, either(UP, real(-8, 3, False))]),
    'igammac': ('lax.igammac(a, b)', igammac, [UP, either(UP, real(-8, 3, False))]),
    'igamma.large': ('lax.igamma(a, b)', igamma, [span(1000, 2000), span(900, 2100)]),
    'igammac.large': ('lax.igammac(a, b)', igammac, [span(1e4, 1.05e4), span(1e4, 1.1e4)]),
    'igamma_grad_a': ('lax.igamma_grad_a(a, b)', igamma_grad_a, [UP, UP]),
    'random_gamma_grad': ('lax.random_gamma_grad(a, b)', random_gamma_grad, [UP, UP]),
    'betainc': ('jsp.betainc(a, b, c)', lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
                [UP, UP, either(span(0, 1), real(-20, 0, False))]),
    'xlogy': ('jsp.xlogy(a, b)', xlog(mp.log), [ANY, real(-30, 30, False)]),
    'xlog1py': ('jsp.xlog1py(a, b)', xlog(mp.log1p), [real(-9, 9), real(-30, 30, False)]),
    'logit': ('jsp.logit(a)', lambda p: mp.log(p / (1 - p)),
              [either(span(0.001, 0.4), span(0.6, 0.999), real(-30, -3, False))]),
    'expit': ('jsp.expit(a)', lambda x: 1 / (1 + mp.exp(-x)), [either(real(-9, 2), span(-80, 80))]),
    'entr': ('jsp.entr(a)', positive(lambda x: -x * mp.log(x)), [either(ANY, UP)]),
    'rel_entr': ('jsp.rel_entr(a, b)', positive(lambda p, q: p * mp.log(p / q)), [UP, UP]),
    'kl_div': ('jsp.kl_div(a, b)', positive(lambda p, q: p * mp.log(p / q) - p + q), [UP, UP]),
    'boxcox': ('jsp.boxcox(a, b)',
               positive(lambda x, l: (mp.expm1(l * mp.log(x)) / l if l else mp.log(x))),
               [UP, either(span(-3, 3), real(-20, 0))]),
    'boxcox1p': ('jsp.boxcox1p(a, b)',
                 positive(lambda x, l: (mp.expm1(l * mp.log1p(x)) / l if l else mp.log1p(x))),
                 [either(UP, real(-20, 0, False)), either(span(-3, 3), real(-20, 0))]),
    'ndtr': ('jsp.ndtr(a)', lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, [either(ANY, span(-12, 9))]),
    'log_ndtr': ('jsp.log_ndtr(a)', log_ndtr, [either(real(-9, 2), span(-40, 12))]),
    'ndtri': ('jsp.ndtri(a)', ndtri, [either(span(0.01, 0.99), real(-30, -1, False))]),
    'erfcx': ('jsp.erfcx(a)', erfcx, [either(real(-9, 0), span(-5, 40), real(0, 30, False))]),
    'dawsn': ('jsp.dawsn(a)', dawsn, [either(ANY, span(-8, 8), real(-9, 9))]),
    'wofz.re': ('jsp.wofz(a + 1j * b).real', wofz('re'), [span(-9, 9), real(-2, 1, False)]),
    'wofz.im': ('jsp.wofz(a + 1j * b).imag', wofz('im'), [span(-9, 9), real(-2, 1, False)]),
    'owens_t': ('jsp.owens_t(a, b)', owens_t, [either(span(-8, 8), real(-3, 1)), real(-3, 2)]),
    'i0': ('jsp.i0(a)', lambda x: mp.besseli(0, x), [either(real(-9, 1), span(-80, 80))]),
    'i1': ('jsp.i1(a)', lambda x: mp.besseli(1, x), [either(real(-9, 1), span(-80, 80))]),
    'expi': ('jsp.expi(a)', mp.ei, [either(real(-30, 1), span(-60, 80))]),
    'exp1': ('jsp.exp1(a)', positive(mp.e1), [either(real(-30, 1, False), span(0.1, 80))]),
    'expn': ('jsp.expn(a, b)', mp.expint,
             [either(whole(0, 9), whole(10, 200)), either(real(-5, 0, False), span(0.1, 80))]),
    'sici.sine': ('jsp.sici(a)[0]', mp.si, [either(real(-9, 1), span(-30, 30), real(1, 5))]),
    'sici.cosine': ('jsp.sici(a)[1]', lambda x: mp.ci(abs(x)),
                    [either(real(-9, 1), span(-30, 30), real(1, 5))]),
    'spence': ('jsp.spence(a)', positive(lambda x: mp.re(mp.polylog(2, 1 - x))),
               [either(real(-20, 0, False), span(0.1, 5), real(0, 20, False))]),
    'fresnel.sine': ('jsp.fresnel(a)[0]', fresnel(mp.fresnels), [either(real(-9, 1), span(-9, 9))]),
    'fresnel.cosine': ('jsp.fresnel(a)[1]', fresnel(mp.fresnelc),
                       [either(real(-9, 1), span(-9, 9))]),
    'hyp1f1': ('jsp.hyp1f1(a, b, c)', mp.hyp1f1,
               [span(0.1, 9), span(0.1, 9), either(span(-20, 80), span(100, 300))]),
    'hyp1f1.signs': ('jsp.hyp1f1(a, b, c)', mp.hyp1f1, [span(-9, 9), span(-9, 9), span(-50, 50)]),
    'hyp2f1': ('jsp.hyp2f1(a, b, c, d)', mp.hyp2f1,
               [span(0.1, 5), span(0.1, 5), span(0.1, 9), either(span(-0.9, 0.9), span(0.9, 0.99))]),
    'sph_harm_y.re': ('jsp.sph_harm_y(a.astype(int), b.astype(int), c, d, n_max=12).real', sph('re'),
                      [whole(6, 12), whole(-6, 6), span(0.1, 3), span(0, 6)]),
    'sph_harm_y.im': ('jsp.sph_harm_y(a.astype(int), b.astype(int), c, d, n_max=12).imag', sph('im'),
                      [whole(6, 12), whole(-6, 6), span(0.1, 3), span(0, 6)]),
}

def made(maker, r, dtype):
    if maker == ANY:
        least, most = {'f32': (-149, 127), 'f64': (-1074, 1023)}[dtype]
        return 2 ** r.uniform(least, most) * r.choice((-1, 1))
    return maker(r)


def either_made(maker, r, dtype):
    # `either` may choose ANY, which needs the dtype.
    try:
        return made(maker, r, dtype)
    except TypeError:
        return made(ANY, r, dtype)


def units(got, want, dtype):
    """The error in units in the last place of the exact result."""
    digits, least, most = BITS[dtype]
    if math.isnan(got):
        return 1e9
    largest = mp.mpf(2) ** most
    got = mp.mpf(got) if math.isfinite(got) else mp.sign(got) * largest
    want = max(min(want, largest), -largest)
    exponent = least if want == 0 else max(int(mp.floor(mp.log(abs(want), 2))), least)
    return float(min(abs(got - want) / mp.mpf(2) ** (exponent - digits + 1), mp.mpf(10) ** 9))


def exact(job):
    name, values = job
    signal.signal(signal.SIGALRM, limit)
    signal.alarm(4)
    try:
        y = FUNCTIONS[name][1](*[mp.mpf(v) for v in values])
        y = mp.mpf(y) if not isinstance(y, mp.mpc) else None
        return None if y is None or not mp.isfinite(y) else mp.nstr(y, 40)
    except Exception:
        return None
    finally:
        signal.alarm(0)


def points(name, dtype, n):
    r = random.Random(name + dtype)
    kind = {'f32': np.float32, 'f64': np.float64}[dtype]
    return [[float(kind(either_made(m, r, dtype))) for m in FUNCTIONS[name][2]] for _ in range(n)]


def serve(tasks, answers):
    """Evaluates JAX's functions. Some never end, so this is a process of its own."""
    import jax
    import jax.numpy as jnp
    import jax.scipy.special as jsp
    from jax import lax
    jax.config.update('jax_enable_x64', True)
    while True:
        name, dtype, columns = tasks.get()
        kind = {'f32': jnp.float32, 'f64': jnp.float64}[dtype]
        arrays = [jnp.asarray(c, kind) for c in columns]
        scope = dict(jnp=jnp, jsp=jsp, lax=lax, **dict(zip('abcd', arrays)))
        answers.put(np.asarray(eval(FUNCTIONS[name][0], scope)).astype(float).tolist())


class Jax:
    def __init__(self):
        self.worker = None

    def __call__(self, *task):
        """Returns JAX's results, or None if it takes too long."""
        if not self.worker:
            context = multiprocessing.get_context('spawn')
            self.tasks, self.answers = context.Queue(), context.Queue()
            self.worker = context.Process(target=serve, args=(self.tasks, self.answers), daemon=True)
            self.worker.start()
        self.tasks.put(task)
        try:
            return self.answers.get(timeout=60)
        except queue.Empty:
            self.worker.kill()
            self.worker = None
            return None


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 120
    jobs = [(name, dtype, p) for name in FUNCTIONS for dtype in BITS for p in points(name, dtype, n)]
    with multiprocessing.Pool(2) as pool:
        wants = pool.map(exact, [(name, p) for name, dtype, p in jobs], chunksize=20)
    groups = {}
    for (name, dtype, p), want in zip(jobs, wants):
        if want is not None and abs(mp.mpf(want)) < mp.mpf(2) ** BITS[dtype][2]:
            groups.setdefault((name, dtype), []).append((p, mp.mpf(want)))
    jax = Jax()
    with open(f'{HERE}/accuracy.jsonl', 'w') as out:
        for (name, dtype), rows in groups.items():
            columns = [list(c) for c in zip(*[p for p, _ in rows])]
            got = jax(name, dtype, columns)
            if not got:  # loops over a whole array may not end where one number does
                single = [jax(name, dtype, [[x] for x in p]) for p, _ in rows]
                got = [g and g[0] for g in single]
            # Without JAX's result, 8 units are the bound.
            errors = [0 if g is None else units(g, w, dtype) for g, (_, w) in zip(got, rows)]
            line = {'name': name, 'dtype': dtype, 'operands': columns,
                    'wanted': [float(w) for _, w in rows],
                    'jax': [float(f'{e:.3g}') for e in errors]}
            out.write(json.dumps(line) + '\n')
            print(name, dtype, len(rows), 'JAX: median', f'{np.median(errors):.3g}', 'most',
                  f'{max(errors):.3g}', file=sys.stderr)


if __name__ == '__main__':
    main()
