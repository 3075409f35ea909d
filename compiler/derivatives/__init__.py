"""How derivatives are made: backwards, forwards, and of many rows at once."""
