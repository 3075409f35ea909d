"""Inputs and steps of programs, as tests of single programs write them."""

from gpuarray.compiler.ops.elemwise.elemwise import CompositeStep
from gpuarray.compiler.ops.fused.row_steps import CELL, COLUMN, ROW, Fold

F4, F8 = "float32", "float64"
X, ROW_, COL = (F4, CELL), (F4, ROW), (F4, COLUMN)


def row(op, *operands, dtype=F4):
    return CompositeStep(op, operands, dtype)


def fold(monoid, operand, dtype=F4):
    return Fold(monoid, operand, dtype, dtype)
