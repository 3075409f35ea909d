"""Kernels that users write: of an expression, of a reduction, of a whole source."""
