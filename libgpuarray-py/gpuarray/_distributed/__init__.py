"""Ranks in several processes: how they meet, agree on calls, and move bytes."""
