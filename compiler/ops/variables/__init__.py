"""Conversion of arguments to variables; transfers between host and contexts."""
