"""Ops that fusion makes: no user writes them."""
