"""Loops: an op whose body is a graph of its own."""
