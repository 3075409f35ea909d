"""Small launches between large ones: they may run in the calling thread (ADR 0052)."""

from concurrent.futures import ThreadPoolExecutor

import gpuarray
import numpy as np
import pytest

N, FEW = 300_000, 10


def mixed(m, x, seed):
    """Large and small operations in turns; each needs what the one before made."""
    x = x + seed
    for k in range(1, 9):
        x = x * 3 + k
        few = x[:FEW] * x[-FEW:]
        few = few - m.max(few)
        x[FEW : 2 * FEW] = few
        total = m.cumsum(few)
        x[:FEW] = total[::-1]
        x = m.where(x > total[3], x, x + few[0])
    return x


@pytest.mark.parametrize("reads", [False, True])
def test_small_and_large_launches_keep_their_order(context, reads):
    host = np.arange(N, dtype="int64") - N // 2
    x = gpuarray.asarray(host, context=context)
    if reads:  # then nothing is queued when it begins
        assert int(x[0]) == host[0]
    np.testing.assert_array_equal(mixed(gpuarray, x, 3), mixed(np, host, 3))


def test_threads_with_small_launches_of_one_kernel(context):
    def one(seed):
        host = np.arange(FEW, dtype="float32") + np.float32(seed)
        x = gpuarray.asarray(host, context=context)
        for _ in range(200):
            x = x * np.float32(0.5) + np.float32(1)
        return np.asarray(x), host

    def expected(x):
        for _ in range(200):
            x = x * np.float32(0.5) + np.float32(1)
        return x

    with ThreadPoolExecutor(4) as pool:
        for found, host in pool.map(one, range(8)):
            np.testing.assert_allclose(found, expected(host), rtol=1e-6)


def test_a_small_launch_follows_a_large_one_of_another_thread(context):
    x = gpuarray.asarray(np.zeros(N, "float32"), context=context)
    with ThreadPoolExecutor(1) as pool:
        for k in range(1, 30):
            x = pool.submit(lambda x: x + np.float32(1), x).result()
            assert float((x[:FEW] * np.float32(2)).sum()) == 2 * FEW * k
