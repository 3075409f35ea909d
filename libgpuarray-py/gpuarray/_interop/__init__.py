"""What arrays give to other libraries and take from them: memory, host values, pickles."""
