"""Contexts, queues, and arrays without arithmetic; files and folders."""
