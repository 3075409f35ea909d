"""exp of 230,400 numbers, a thousand times; the results stay on the device."""

import time

import numpy
from gpuarray.compiler import config, function, shared, tensor
from gpuarray.compiler.ops.variables.transfer import gpu_from_host
from options import parse, progress


def main(iters: int) -> None:
    """Compile, loop, and say where the work was done."""
    vlen = 10 * 30 * 768  # 10 x #cores x # threads per core

    rng = numpy.random.RandomState(22)
    x = shared(numpy.asarray(rng.rand(vlen), config.floatX))
    f = function([], gpu_from_host(tensor.exp(x)))
    print(f.maker.fgraph.toposort())
    t0 = time.time()
    for _ in progress(iters, "exp"):
        r = f()
    r.sync()
    t1 = time.time()
    print(f"Looping {iters} times took", t1 - t0, "seconds")
    print("Result is", numpy.asarray(r))
    if f.context.is_cpu or numpy.any(
        [
            isinstance(x.op, tensor.Elemwise) and ("Gpu" not in type(x.op).__name__)
            for x in f.maker.fgraph.toposort()
        ]
    ):
        print("Used the cpu")
    else:
        print("Used the gpu")


if __name__ == "__main__":
    options = parse(__doc__, iters=1000)
    with config.use(device=options.context, floatX="float32"):
        main(options.iters)
