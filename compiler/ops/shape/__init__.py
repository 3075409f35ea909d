"""Axes and lengths of variables."""
