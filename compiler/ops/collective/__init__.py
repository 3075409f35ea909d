"""Collectives: operations among the processes of a distributed program."""
