"""Random draws: functions of a key, a counter and the place of an element."""
