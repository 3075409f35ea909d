"""Sparse arrays: patterns, conversion, arithmetic, products, iterative methods."""
