"""Layers of neural networks by the library's kernels."""
