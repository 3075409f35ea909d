"""Who may overwrite what, and what shared variables keep."""
