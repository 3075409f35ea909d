"""Indexing by arrays and masks; ``x[...]`` as NumPy means it."""
