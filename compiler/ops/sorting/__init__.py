"""Sorted and running values: sorting, searching, counting, cumulating."""
