"""Rewrites of loops: what leaves them, and what they need not keep."""
