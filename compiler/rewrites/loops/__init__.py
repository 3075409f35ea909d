"""Rewrites of loops: code motion out of the body, and dead results and states."""
