"""a + a**10, compiled: one fused kernel, no pow."""

import gpuarray.compiler as theano
from options import parse


def main() -> None:
    """Compile and run the expression."""
    a = theano.tensor.vector("a")  # declare a symbolic variable
    b = a + a**10  # build an expression
    f = theano.function([a], b)  # compile a function
    print(f([0, 1, 2]))  # [0. 2. 1026.]
    theano.printing.debugprint(f)
    print(f.plan)


if __name__ == "__main__":
    with theano.config.use(device=parse(__doc__).context):
        main()
