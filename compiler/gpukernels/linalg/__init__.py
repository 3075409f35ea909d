"""Lowerings of products, decompositions and solvers."""

from gpuarray.compiler.gpukernels.linalg import (
    nlinalg as nlinalg,
    products as products,
)
