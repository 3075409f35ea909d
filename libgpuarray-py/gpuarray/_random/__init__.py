"""Distributions of random numbers."""
