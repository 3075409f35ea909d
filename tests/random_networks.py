"""Random layers of networks: values, gradients, shapes and what is refused, by NumPy.

As a program it draws many: convolutions with both gradients, pooling, neighbourhoods,
normalisation, in any layout and dtype, by the library's routines and by
``gpuarray.nn``; one in ten is a configuration that does not fit, which must raise. One
in ``--compiled`` is run in the compiled language too, with ``grad``. It tells every few
seconds how far it is; Ctrl-C ends it with its result.
python tests/random_networks.py --context opencl0:0 --cases 100000 --jobs 2
python tests/random_networks.py --context oclgrind-gpu --cases 50 --compiled 0
"""

from __future__ import annotations

import sys
from functools import partial

import drawn_layers
import numpy as np
from bounds import difference
from drawn_refusals import drawn_refusal, when_run
from drawn_views import Views
from gpuarray.compiler import config, function
from random_drawing import quiet
from random_program import halved, options_parser, run
from simulated import context_of

REFUSED = 10
"""One in how many cases does not fit."""
COMPILED = 50
"""One in how many cases is compiled as well."""
MISTAKEN = 7
"""One in how many that are compiled does not fit when it is called."""
TOGETHER = 4
"""How many layers are compiled in one function."""


class Case:
    """What is drawn for a seed: a layer, or something that is to be refused."""

    def __init__(self, seed):
        self.seed = seed
        self.layer = None if seed % REFUSED == 0 else drawn_layers.drawn(seed)

    def differences(self, context):
        """Where and how results of a device differ from what is right."""
        if self.layer is None:
            yield from drawn_refusal(self.seed).differences(context)
            return
        name = type(self.layer).__name__
        for text in self.layer.shapes():
            yield f"{name} shape", text
        for text in self.eager(Views(np.random.default_rng(self.seed), context)):
            yield f"{name} eager", text

    def eager(self, views):
        layer = self.layer
        if layer.refused:
            try:
                shapes = [array.shape for _, array in layer.results(views)]
            except ValueError:
                return
            yield f"{self.text()}: gives {shapes}, expected ValueError"
            return
        rights = list(layer.rights())
        found = dict(layer.results(views))
        for name, right, dtype in rights:
            text = difference(np.asarray(found[name]), right, dtype)
            if text:
                yield f"{self.text()} {name}: {text}"
        if views.touched():
            yield f"{self.text()}: wrote beside its result"

    def text(self):
        layer = self.layer
        names = ("drawn", "judge", "shape", "mode", "length", "step", "axes", "n")
        known = [str(getattr(layer, name, "")) for name in names]
        return " ".join(filter(None, [layer.dtype, *known]))


# ---- compiled ----


def drawn_graph(seed):
    """A layer in the compiled language; None where it has no such options."""
    shares = dict(drawn_layers.KINDS)
    shares[drawn_layers.Convolution] -= 0.1
    shares[drawn_layers.Upsampling] = 0.1
    layer = drawn_layers.drawn(seed, shares)
    graph = layer.graph()
    return graph and (seed, type(layer).__name__, graph)


def compiled(graphs, context):
    """What differs where a device runs one function of some layers."""
    inputs, arrays, outputs = ([] for _ in range(3))
    for _, _, graph in graphs:
        inputs += graph.inputs
        arrays += graph.arrays
        outputs += graph.outputs
    with config.use(device=context.name):
        f = function(inputs, outputs, on_unused_input="ignore")
    results = iter(f(*arrays))
    for seed, kind, graph in graphs:
        for name, right, dtype in graph.rights:
            text = difference(np.asarray(next(results)), right, dtype)
            if text:
                yield (seed, kind), f"{name}: {text}"


def compiled_differences(seeds, context):
    """The differences of some seeds' layers in the compiled language."""
    graphs = []
    for seed in seeds:
        try:
            if seed % MISTAKEN == 0:
                if text := when_run(seed, context):
                    yield seed, "refused when run", text
            else:
                graphs += filter(None, [drawn_graph(seed)])
        except Exception as error:
            yield seed, "graph", f"{type(error).__name__}: {error}"
    for first in range(0, len(graphs), TOGETHER):
        some = graphs[first : first + TOGETHER]
        for place, text in halved(some, partial(compiled, context=context)):
            seed, kind = place[:2]
            yield seed, f"{kind} compiled", text


def found(seeds, context=None, share=COMPILED):
    """The differences of a batch: seed, where, and how."""
    with quiet():
        for seed in seeds:
            try:
                texts = list(Case(seed).differences(context))
            except Exception as error:
                texts = [("raised", f"{type(error).__name__}: {error}")]
            yield from ((seed, where, text) for where, text in texts)
        if share:
            some = [seed for seed in seeds if seed % share == share // 2]
            yield from compiled_differences(some, context)


def main(arguments=None):
    """Draw layers; print what differs."""
    parser = options_parser(__doc__)
    parser.set_defaults(batch=200, cases=10000, context="opencl0:0")
    parser.add_argument(
        "--compiled", type=int, default=COMPILED, help="one in so many; 0 for none"
    )
    options = parser.parse_args(arguments)
    with context_of(options.context) as name:
        options.context = name
        return run(options, partial(found, share=options.compiled))


if __name__ == "__main__":
    sys.exit(main())
