"""Checkpoints: the state of a program of several ranks, in files."""
