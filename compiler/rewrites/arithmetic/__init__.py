"""Rules of arithmetic: exact ones, one form for each meaning, finite values."""
