"""The flags of an array's layout."""

from __future__ import annotations

from typing import ClassVar

from gpuarray._native import lib


class Flags:
    """The layout of an array: contiguous or not, aligned, writeable.

    Also by NumPy's keys, as in ``a.flags["C_CONTIGUOUS"]``, with ``IS_`` before or not.
    ``num`` has the bits of the library's GA_C_CONTIGUOUS and so on.

    >>> flags = gpuarray.zeros((2, 3)).T.flags
    >>> flags.c_contiguous, flags.f_contiguous, flags["WRITEABLE"]
    (False, True, True)
    """

    __slots__ = ("num",)

    # By name: NumPy's letter, and the flags that must all be set.
    _bits: ClassVar[dict[str, tuple[str, int]]] = {
        "C_CONTIGUOUS": ("C", lib.GA_C_CONTIGUOUS),
        "F_CONTIGUOUS": ("F", lib.GA_F_CONTIGUOUS),
        "OWNDATA": ("O", 0),
        "WRITEABLE": ("W", lib.GA_WRITEABLE),
        "ALIGNED": ("A", lib.GA_ALIGNED),
        "BEHAVED": ("B", lib.GA_BEHAVED),
        "CARRAY": ("CA", lib.GA_CARRAY),
    }
    _same: ClassVar[dict[str, str]] = {
        **{letter: name for name, (letter, _) in _bits.items()},
        **{f"IS_{name}": name for name in _bits},
        "CONTIGUOUS": "C_CONTIGUOUS",
        "FORTRAN": "F_CONTIGUOUS",
        "U": "UPDATEIFCOPY",
        "X": "UPDATEIFCOPY",
        "WRITEBACKIFCOPY": "UPDATEIFCOPY",
        "FA": "FARRAY",
    }

    def __init__(self, num: int) -> None:
        self.num = num

    def __getitem__(self, key: str | bytes) -> bool:
        name = key.decode() if isinstance(key, bytes) else key
        name = self._same.get(name, name)
        if name in self._bits:
            mask = self._bits[name][1]
            return self.num & mask == mask
        if name == "UPDATEIFCOPY":
            return False
        c_order, f_order = self["C"], self["F"]
        if name == "FORC":
            return c_order or f_order
        if name == "FNC":
            return f_order and not c_order
        if name == "FARRAY":
            return f_order and not c_order and self["B"]
        raise KeyError(key)

    @property
    def c_contiguous(self) -> bool:
        """True if the elements lie in C order without gaps."""
        return self["C"]

    contiguous = c_contiguous

    @property
    def f_contiguous(self) -> bool:
        """True if the elements lie in Fortran order without gaps."""
        return self["F"]

    fortran = f_contiguous

    @property
    def forc(self) -> bool:
        """True if the elements lie in C or in Fortran order without gaps."""
        return self["FORC"]

    @property
    def fnc(self) -> bool:
        """True if the elements lie in Fortran order and not in C order."""
        return self["FNC"]

    @property
    def aligned(self) -> bool:
        """True if each element starts at a multiple of its size."""
        return self["A"]

    @property
    def writeable(self) -> bool:
        """True if elements may be changed."""
        return self["W"]

    @property
    def behaved(self) -> bool:
        """True if the array is aligned and writeable."""
        return self["B"]

    @property
    def carray(self) -> bool:
        """True if the array is aligned, writeable and in C order."""
        return self["CA"]

    @property
    def farray(self) -> bool:
        """True if the array is aligned, writeable and in Fortran order alone."""
        return self["FA"]

    @property
    def owndata(self) -> bool:
        """True: an array holds its buffer, which it may share with others."""
        return True

    @property
    def updateifcopy(self) -> bool:
        """False: no array is a copy that is to be written back."""
        return False

    writebackifcopy = updateifcopy

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and self.num == other.num

    def __hash__(self) -> int:
        return hash(self.num)

    def __reduce__(self) -> tuple[type[Flags], tuple[int]]:
        return Flags, (self.num,)

    def __repr__(self) -> str:
        names = "C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED"
        return "\n".join(f"  {name} : {self[name]}" for name in names)
