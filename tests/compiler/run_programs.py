"""Compiles and runs the programs of `programs` on a device; prints its kernel cache.

``python run_programs.py opencl0:0``
"""

import json
import sys

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import programs
from gpuarray.compiler import config, function, grad


def pieces():
    """What the programs leave out: indexing, joins, sorting, a softmax's gradient."""
    x, i = T.matrix("x"), T.lvector("i")
    chosen = T.concatenate([x[i], T.sort(x)[::2]], axis=0)
    cost = -T.log(T.nnet.softmax(chosen))[:, 0].mean() + T.cumsum(x).max()
    return function([x, i], [cost, grad(cost, x), x.argmax(axis=1)], name="pieces")


def arguments(f):
    """Ones for a function's inputs."""
    kinds = [each.type for each in f.maker.fgraph.inputs]
    shapes = {"simple": [(9,)], "exp": [], "logistic": [(5, 784), (5,)]}
    shapes |= {"shapes": [(4, 6), (4,)], "perceptron": [(5, 784), (5, 10)]}
    shapes |= {"pieces": [(4, 6), (2,)]}
    return [
        np.ones(shape, kind.dtype)
        for shape, kind in zip(shapes[f.name], kinds, strict=False)
    ]


def main(name):
    context = gpuarray.context(name)
    with config.use(floatX="float32", device=name):
        for make in (*programs.PROGRAMS.values(), pieces):
            f = make()
            f(*arguments(f))
    context.sync()
    print(json.dumps(context.cache_info()._asdict()))


if __name__ == "__main__":
    main(sys.argv[1])
