"""Elementwise operations: the rows of the scalar table, and functions made of them."""
