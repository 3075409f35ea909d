"""Rules of choices, checks and marks."""
