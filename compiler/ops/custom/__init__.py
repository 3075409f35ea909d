"""Ops that a program makes of its own functions, graphs and expressions."""
