"""Kernels: the C text of scalar operations, and how they are compiled and called."""
