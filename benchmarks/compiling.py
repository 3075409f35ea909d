"""Times the way from a new process to a first result.

``python -m benchmarks.compiling cuda0`` prints seconds as JSON.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any


def stages(context: str) -> dict[str, float]:
    """Seconds of importing, opening a context, compiling a training step, running it.

    The modules are loaded here because their import is timed.
    """
    seconds: dict[str, float] = {}

    def timed(stage: str, call: Callable[..., Any], *args: Any) -> Any:
        start = time.perf_counter()
        result = call(*args)
        seconds[stage] = time.perf_counter() - start
        return result

    load = importlib.import_module
    numpy = load("numpy")
    gpuarray = timed("import over NumPy", load, "gpuarray")
    theano = timed("import the compiler", load, "gpuarray.compiler")
    ctx = timed("open the context", gpuarray.context, context or None)
    logistic = load("benchmarks.workers.ours").logistic_expressions
    with theano.config.use(floatX="float32", device=ctx.name):
        weights = numpy.zeros(784, "float32")
        expressions = timed("build the expressions", logistic, weights)
        inputs, outputs, updates = expressions
        step = timed("compile", theano.function, inputs, outputs, None, updates)
        data = numpy.ones((400, 784), "float32"), numpy.ones(400, "float32")
        timed("first call", step, *data)
        ctx.sync()
    return seconds


if __name__ == "__main__":
    print(json.dumps(stages(sys.argv[1])))
