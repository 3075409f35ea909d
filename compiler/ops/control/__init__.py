"""Choices, checks, and marks on variables."""
