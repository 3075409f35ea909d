"""Random numbers against their laws: many of each distribution, in both widths.

For each it tells how probable a sample at least so far from the law is: by chi-square
of cells that are equally probable, by Kolmogorov and Smirnov's distance at their edges,
and by mean and variance, where the law has four moments. What is less probable than
``--least`` is a difference. ``--all`` tells the others, too.
python tests/random_laws.py --context opencl0:0 --draws 10000000 --jobs 2 --all
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial

import numpy as np
from gpuarray._random.table import DISTRIBUTIONS
from gpuarray.random import Generator
from laws import CONTINUOUS, DISCRETE
from random_drawing import quiet
from random_program import options_parser, run
from scipy import stats

CELLS = 512
AT_ONCE = 1 << 21
LEAST_EXPECTED = 20
"""Fewest expected numbers of a cell of integers: rarer ones share a cell."""


def cases():
    """Each distribution with parameters and law, in each width."""
    laws = [*CONTINUOUS, *DISCRETE]
    return [(*law, dtype) for law in laws for dtype in dtypes_of(law[0])]


def dtypes_of(name):
    return ("float32", "float64") if DISTRIBUTIONS[name].kind == "f" else ("i4", "i8")


def edges_of(law, is_discrete, draws):
    """The ends of cells but the last, which has none: numbers up to them are in it."""
    if not is_discrete:
        return np.unique(law.ppf(np.arange(1, CELLS) / CELLS))
    # SciPy finds no quantiles of long tails: powers of 2 lead there.
    steps = np.floor(2 ** np.arange(0, 14, 0.125))
    with suppress(RuntimeError):
        steps = np.concatenate([steps, law.ppf(np.arange(1, CELLS) / CELLS)])
        steps = np.concatenate([steps, law.ppf([1e-5, 1e-4, 1 - 1e-4])])
    ends = np.unique(steps)
    below = law.cdf(ends)
    kept, last = [], 0.0
    for end, share in zip(ends, below, strict=True):
        if min(share - last, 1 - share) * draws >= LEAST_EXPECTED:
            kept.append(end)
            last = share
    return np.array(kept)


class Sample:
    """Counts and sums of what was drawn; it has state because it is drawn by parts."""

    def __init__(self, law, is_discrete, draws):
        self.law, self.draws = law, draws
        self.edges = edges_of(law, is_discrete, draws)
        self.counts = np.zeros(len(self.edges) + 1)
        mean, variance, _, excess = (float(m) for m in law.stats(moments="mvsk"))
        self.moments = mean, variance, excess
        self.sums = np.zeros(2)
        self.wrong = 0

    def add(self, numbers):
        found = numbers.astype("float64")
        places = np.searchsorted(self.edges, found, "left")
        self.counts += np.bincount(places, minlength=len(self.counts))
        low, high = self.law.support()
        slack = 1e-6 * np.abs(found)
        inside = (found >= low - slack) & (found <= high + slack)
        self.wrong += int((~inside).sum())
        away = found - self.moments[0]
        self.sums += [away.sum(), (away**2).sum()]

    def probabilities(self):
        """How probable a sample so far from the law is, by test."""
        below = self.law.cdf(self.edges)
        share = np.diff(np.concatenate([[0], below, [1]]))
        if len(share) > 1:
            square = (
                (self.counts - share * self.draws) ** 2 / (share * self.draws)
            ).sum()
            yield "chi-square", stats.chi2(len(share) - 1).sf(square)
            drawn = np.cumsum(self.counts)[:-1] / self.draws
            distance = np.abs(drawn - below).max() * self.draws**0.5
            yield "distance", stats.kstwobign.sf(distance)
        mean, variance, excess = self.moments
        if np.isfinite([mean, variance, excess]).all() and variance > 0:
            deviation = (variance / self.draws) ** 0.5
            yield "mean", 2 * stats.norm.sf(abs(self.sums[0]) / self.draws / deviation)
            spread = variance * ((excess + 2) / self.draws) ** 0.5
            apart = abs(self.sums[1] / self.draws - variance)
            yield "variance", 2 * stats.norm.sf(apart / spread)
        yield "range", float(self.wrong == 0)


def drawn(case, context, draws, seed):
    """A sample of a case, drawn part by part from one generator."""
    name, given, law, dtype = case
    sample = Sample(law, hasattr(law, "pmf"), draws)
    generator = Generator(seed, context)
    for first in range(0, draws, AT_ONCE):
        count = min(AT_ONCE, draws - first)
        sample.add(np.asarray(generator._draw(name, given, count, dtype, None)))
    return sample


def found(seeds, context=None, draws=0, least=0.0, tells_all=False):
    """The laws that samples do not have: number, test, and how probable they are."""
    listed = cases()
    for seed in seeds:
        case = listed[seed % len(listed)]
        text = f"{case[0]}{case[1]} {case[3]}"
        with quiet():
            sample = drawn(case, context, draws, 1000 + seed)
            results = list(sample.probabilities())
        if tells_all:
            figures = ", ".join(f"{test} {p:.3g}" for test, p in results)
            print(f"{text}: {figures}", flush=True)
        for test, p in results:
            if not p >= least:
                yield seed, test, f"{text}: p = {p:.3g}"


def main(arguments=None):
    """Draw from all distributions; print which samples are improbable."""
    parser = options_parser(__doc__)
    parser.set_defaults(batch=1, cases=len(cases()), context="opencl0:0")
    parser.add_argument("--draws", type=int, default=10**6, help="of each distribution")
    parser.add_argument("--least", type=float, default=1e-6, help="probability")
    parser.add_argument("--all", action="store_true", help="tell all probabilities")
    options = parser.parse_args(arguments)
    task = partial(
        found, draws=options.draws, least=options.least, tells_all=options.all
    )
    return run(options, task)


if __name__ == "__main__":
    sys.exit(main())
