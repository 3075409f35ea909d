"""Libraries of vendors in NumPy, for devices that have none.

Each takes the place of the C functions by which the package calls a vendor's library,
and keeps to their headers: what a function must be given is asserted, what it may leave
undefined becomes nan.
"""

import numpy as np
from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray.array import Array
from gpuarray.dtypes import OF_TYPECODE
from gpuarray.errors import LinAlgError


class Library:
    """The C library; functions that a subclass has stand for its own."""

    def __init__(self, context):
        self.context = context

    def __getattr__(self, name):
        return getattr(lib, name)

    def array(self, struct):
        """What a struct says, as an array of the same memory."""
        own = ffi.new(ARRAY)
        check(lib.GpuArray_view(own, struct))
        kind = own.typecode
        return Array.wrap(own, self.context, OF_TYPECODE[kind], kind)


def is_column_major(a):
    """Whether matrices lie column by column, their stack evenly."""
    *batch, m, n = a.shape
    *apart, down, along = (step // a.itemsize for step in a.strides)
    if 0 in a.shape:
        return True
    ends = [step for step, length in zip(apart, batch, strict=True) if length > 1]
    counts = [length for length in batch if length > 1]
    is_even = all(
        step == below * count
        for step, below, count in zip(ends, ends[1:], counts[1:], strict=False)
    )
    is_packed = (m == 1 or down == 1) and (n == 1 or along >= m)
    return is_packed and is_even and (not ends or ends[-1] >= m * n)


class Solver(Library):
    """The routines of solver.h."""

    def gpuarray_solves(self, context):
        return 1

    def matrices(self, struct):
        """A stack that a routine overwrites, and what it has."""
        a = self.array(struct)
        assert is_column_major(a), (a.shape, a.strides)
        return a, np.asarray(a)

    def vectors(self, struct, like, length, dtype):
        """What has so many elements for each of some matrices."""
        v = self.array(struct)
        assert v.flags.c_contiguous and v.dtype == dtype
        assert v.shape == (*like.shape[:-2], length)
        return v

    def tell(self, info, failed, text):
        """Which matrices fail: in ``info``, or at once; the library is later."""
        if info != ffi.NULL:
            failures = self.array(info)
            assert failures.dtype == np.int32 and failures.shape == failed.shape
            failures[...] = failed.astype("int32")
        elif failed.any():
            raise LinAlgError(text)
        return 0

    def GpuArray_cholesky(self, a, uplo, info):
        a, host = self.matrices(a)
        is_upper = {lib.cb_upper: True, lib.cb_lower: False}[uplo]
        try:
            made = np.linalg.cholesky(host, upper=is_upper)
        except np.linalg.LinAlgError:
            return self.tell(info, np.array(True), "cholesky: not positive definite")
        keep = np.tri(host.shape[-1], dtype=bool)
        keep = keep.T if is_upper else keep
        a[...] = np.where(keep, made, host)
        return 0

    def GpuArray_lu(self, a, pivots, info):
        a, host = self.matrices(a)
        n = host.shape[-1]
        rows = self.vectors(pivots, host, n, np.int64)
        made, exchanged = np.array(host), np.zeros(rows.shape, "int64")
        failed = np.zeros(host.shape[:-2], bool)
        for at in np.ndindex(host.shape[:-2]):
            failed[at] = factorize(made[at], exchanged[at])
        a[...], rows[...] = made, exchanged
        return self.tell(info, failed, "lu: a matrix is singular")

    def GpuArray_lu_solve(self, trans, factors, pivots, b):
        _, lu = self.matrices(factors)
        b, right = self.matrices(b)
        n = lu.shape[-1]
        exchanged = np.asarray(self.vectors(pivots, lu, n, np.int64))
        whole = (np.tril(lu, -1) + np.eye(n)) @ np.triu(lu)
        for at in np.ndindex(lu.shape[:-2]):
            for row in range(n)[::-1]:
                other = exchanged[at][row] - 1
                whole[at][[row, other]] = whole[at][[other, row]]
        turned = whole.swapaxes(-1, -2)
        how = {lib.cb_no_trans: whole, lib.cb_trans: turned}
        b[...] = np.linalg.solve(how[trans], right).astype(right.dtype)
        return 0

    def GpuArray_qr(self, a, tau):
        a, host = self.matrices(a)
        short = self.vectors(tau, host, min(host.shape[-2:]), host.dtype)
        if host.size:
            h, scales = np.linalg.qr(host, "raw")
            a[...], short[...] = h.swapaxes(-1, -2), scales
        return 0

    def GpuArray_qr_vectors(self, a, tau):
        a, host = self.matrices(a)
        m, n = host.shape[-2:]
        scales = np.asarray(self.array(tau))
        assert scales.shape[:-1] == host.shape[:-2] and scales.shape[-1] <= n <= m
        made = np.empty_like(host)
        for at in np.ndindex(host.shape[:-2]):
            made[at] = np.eye(m, n)
            for i, scale in reversed(list(enumerate(scales[at]))):
                v = np.r_[np.zeros(i), 1, host[at][i + 1 :, i]][:, None]
                made[at] -= scale * v @ (v.conj().T @ made[at])
        a[...] = made
        return 0

    def GpuArray_svd(self, a, s, u, vh, info):
        a, host = self.matrices(a)
        m, n = host.shape[-2:]
        assert m >= n
        values = self.vectors(s, host, n, host.real.dtype)
        if u == ffi.NULL:
            assert vh == ffi.NULL
            values[...] = np.linalg.svd(host, compute_uv=False)
            return 0
        u, vh = self.matrices(u)[0], self.matrices(vh)[0]
        assert u.shape[-1] in (m, n)
        if host.size:
            parts = np.linalg.svd(host, full_matrices=u.shape[-1] == m)
            u[...], values[...], vh[...] = parts
            a[...] = np.full_like(host, np.nan)
        return 0

    def GpuArray_eigh(self, a, uplo, vectors, w, info):
        a, host = self.matrices(a)
        values = self.vectors(w, host, host.shape[-1], host.real.dtype)
        triangle = {lib.cb_upper: "U", lib.cb_lower: "L"}[uplo]
        values[...], found = np.linalg.eigh(host, triangle)
        a[...] = found if vectors else np.full_like(host, np.nan)
        return 0

    def GpuArray_eig(self, a, w, v, info):
        a, host = self.matrices(a)
        assert host.dtype.kind == "c"
        values = self.vectors(w, host, host.shape[-1], host.dtype)
        values[...], found = np.linalg.eig(host)
        if v != ffi.NULL:
            self.matrices(v)[0][...] = found
        a[...] = np.full_like(host, np.nan)
        return 0


def factorize(a, exchanged):
    """Overwrite a matrix by its LU factors; whether a pivot is 0."""
    is_singular = False
    for k in range(a.shape[0]):
        best = k + int(abs(a[k:, k]).argmax())
        a[[k, best]], exchanged[k] = a[[best, k]], best + 1
        if a[k, k] == 0:
            is_singular = True
            continue
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return is_singular


class Transforms(Library):
    """The function of fft.h."""

    def gpuarray_transforms(self, context):
        return 1

    def GpuArray_fft(self, out, a, rank, inverse):
        out, a = self.array(out), self.array(a)
        assert out.flags.c_contiguous and a.flags.c_contiguous and 1 <= rank <= 3
        host, axes = np.asarray(a), tuple(range(-rank, 0))
        kinds = a.dtype.kind + out.dtype.kind
        lengths = (out if kinds == "cf" else a).shape[-rank:]
        if kinds == "fc":
            assert not inverse
            made = np.fft.rfftn(host, lengths, axes)
        elif kinds == "cf":
            assert inverse
            made = np.fft.irfftn(host, lengths, axes, norm="forward")
            a[...] = np.full_like(host, np.nan)
        elif inverse:
            made = np.fft.ifftn(host, lengths, axes, norm="forward")
        else:
            made = np.fft.fftn(host, lengths, axes)
        assert made.shape == out.shape
        out[...] = made.astype(out.dtype)
        return 0


class Ranks(Library):
    """The functions of collectives.h, for one of some ranks.

    Others have the same elements, but what they broadcast is their number.
    """

    FOLDS = np.add, np.multiply, np.maximum, np.minimum

    def __init__(self, context, count, rank):
        super().__init__(context)
        self.count, self.rank = count, rank
        self.sent = []

    def gpucomm_new(self, made, context, clique, count, rank):
        assert bytes(ffi.buffer(ffi.addressof(clique))) == bytes(range(128))
        assert (context, count, rank) == (self.context.pointer, self.count, self.rank)
        return 0

    def gpucomm_free(self, comm):
        pass

    def gpucomm_get_count(self, comm, answer):
        answer[0] = self.count
        return 0

    def gpucomm_get_rank(self, comm, answer):
        answer[0] = self.rank
        return 0

    def elements(self, struct):
        """The elements as they lie in memory."""
        a = self.array(struct)
        return np.asarray(a).ravel("C" if a.flags.c_contiguous else "F")

    def store(self, struct, elements):
        a = self.array(struct)
        order = "C" if a.flags.c_contiguous else "F"
        assert a.size == elements.size
        a[...] = elements.astype(a.dtype).reshape(a.shape, order=order)
        return 0

    def folded(self, struct, code):
        each = self.elements(struct)
        return self.FOLDS[code].reduce([each] * self.count)

    def GpuArray_reduce_from(self, src, code, root, comm):
        assert root != self.rank
        self.sent.append((root, code, self.elements(src).tolist()))
        return 0

    def GpuArray_reduce(self, src, dest, code, root, comm):
        assert root == self.rank
        return self.store(dest, self.folded(src, code))

    def GpuArray_all_reduce(self, src, dest, code, comm):
        return self.store(dest, self.folded(src, code))

    def GpuArray_reduce_scatter(self, src, dest, code, comm):
        parts = np.split(self.folded(src, code), self.count)
        return self.store(dest, parts[self.rank])

    def GpuArray_broadcast(self, array, root, comm):
        if root != self.rank:
            return self.store(array, np.full(self.array(array).size, root))
        self.sent.append((root, self.elements(array).tolist()))
        return 0

    def GpuArray_all_gather(self, src, dest, comm):
        return self.store(dest, np.tile(self.elements(src), self.count))
