"""Protocols of variables: operators, NumPy's protocols, conversions."""
