"""What users give, as variables; moves between the host and contexts."""
