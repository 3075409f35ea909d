"""Conditionals, assertions, printing and gradient markers."""
