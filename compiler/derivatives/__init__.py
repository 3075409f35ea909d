"""Derivatives: reverse and forward mode, and batching."""
