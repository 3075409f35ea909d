"""Weak dictionaries, by identity."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from threading import Lock
from typing import Generic, TypeVar
from weakref import ref

K = TypeVar("K")
V = TypeVar("V")

_FEW = 64


class Living(MutableMapping[K, V], Generic[K, V]):
    """A weak dictionary with keys by identity.

    Unlike ``weakref.WeakKeyDictionary`` it has no callbacks: those run wherever an
    object dies, and nobody catches an interrupt that they raise. Entries of dead
    objects are removed when they are as many as the others.

    >>> class Thing: pass
    >>> one, table = Thing(), Living()
    >>> table[one] = 3
    >>> table[one], Thing() in table, len(table)
    (3, False, 1)
    >>> del one
    >>> len(table)
    0
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[ref[K], V]] = {}
        self._most = _FEW
        self._turn = Lock()

    def __getitem__(self, key: K) -> V:
        entry = self._entries.get(id(key))
        if entry is None or entry[0]() is not key:
            raise KeyError(key)
        return entry[1]

    def __contains__(self, key: object) -> bool:
        entry = self._entries.get(id(key))
        return entry is not None and entry[0]() is key

    def __setitem__(self, key: K, value: V) -> None:
        dropped = []  # destructors may call here again, so after the lock
        with self._turn:
            if len(self._entries) >= self._most:
                dead = [n for n, (of, _) in self._entries.items() if of() is None]
                dropped = [self._entries.pop(number) for number in dead]
                self._most = max(2 * len(self._entries), _FEW)
            self._entries[id(key)] = (ref(key), value)
        del dropped

    def __delitem__(self, key: K) -> None:
        if key not in self:
            raise KeyError(key)
        del self._entries[id(key)]

    def __iter__(self) -> Iterator[K]:
        for of, _ in list(self._entries.values()):
            key = of()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return sum(1 for _ in self)
