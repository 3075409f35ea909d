"""Arrays repeated, rolled and padded."""
