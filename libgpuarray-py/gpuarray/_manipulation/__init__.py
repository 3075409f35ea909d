"""Shapes, parts and joins of arrays: views, stacks, picks, sets."""
