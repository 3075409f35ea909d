"""Axes that broadcast, are moved, added and dropped."""
