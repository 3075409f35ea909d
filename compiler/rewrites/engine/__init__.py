"""Applies rewrites: patterns, phases, equal nodes merged, requirements kept."""
