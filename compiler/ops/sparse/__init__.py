"""Sparse matrices: types, variables, and operations on them."""
