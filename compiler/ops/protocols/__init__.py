"""What variables answer: operators, NumPy's protocols, conversions."""
