"""The families of the Python package's public names: a page of docs/python each."""

from __future__ import annotations

from typing import NamedTuple


class Page(NamedTuple):
    """A family of names: its title, and the modules that say which they are."""

    title: str
    modules: str
    about: str = ""


CONSTANT = "constant"  # in place of a module

# By file: the title, the modules whose names it has, and the one whose docstring says
# what holds for all of them.
PAGES = {
    "array": Page("The array", "array _core.base _core.attributes"),
    "elementwise": Page("Elementwise functions", "elementwise"),
    "creation": Page(
        "Making, saving and loading arrays",
        "_creation.conversion _creation.filled _creation.ranges _creation.mesh "
        "_creation.twodim_base _creation.index_tricks _creation.windows "
        "_creation.host_data _files.npyio",
    ),
    "shapes": Page(
        "Shapes, parts and joins",
        "_manipulation.shaping _manipulation.joining _manipulation.splitting "
        "_manipulation.tiling _manipulation.insertion _manipulation.padding "
        "_functional.apply_along_axis",
    ),
    "indexing": Page(
        "Indexing and searching",
        "_manipulation.take_put _manipulation.assignment _math.selection "
        "_sorting.searching",
    ),
    "sorting": Page(
        "Sorting, comparing, sets", "_sorting.sorting _math.logic _manipulation.sets"
    ),
    "sums": Page(
        "Sums and extremes",
        "_ufunc.reduction _ufunc.scanning _math.nan_functions",
        "_ufunc.reduction",
    ),
    "statistics": Page(
        "Statistics",
        "_math.statistics _math.quantiles _math.histograms _math.function_base "
        "_math.trigonometric _math.bits _math.type_check _linalg.polynomials",
    ),
    "linalg": Page(
        "Linear algebra",
        "blas _products.contractions _products.matmul _products.einsum linalg",
        "linalg",
    ),
    "fft": Page("Fourier transforms", "fft", "fft"),
    "nn": Page("Layers of neural networks", "nn", "nn"),
    "sparse": Page("Sparse arrays", "sparse sparse.linalg", "sparse"),
    "random": Page("Random numbers", "random", "random"),
    "kernels": Page(
        "Kernels of your own",
        "_kernels.kernel _custom_kernels.raw_kernel _custom_kernels.elementwise_kernel "
        "_custom_kernels.reduction_kernel _functional.fusion elemwise",
        "_custom_kernels.elementwise_kernel",
    ),
    "functions": Page("Compiled functions in files", "_files.function_files"),
    "contexts": Page(
        "Devices, queues and time",
        "_core.context _core.opening _core.devices _core.memory _core.queues "
        "_core.profiling config",
    ),
    "distributed": Page(
        "Several processes, a device each",
        "_distributed.opening _distributed.communicator _distributed.clusters "
        "_checkpoints.saving _checkpoints.loading _checkpoints.state distributed",
        "distributed",
    ),
    "collectives": Page("Cliques of CUDA devices", "collectives", "collectives"),
    "dtypes": Page("Dtypes and constants", f"_core.info dtypes {CONSTANT}", "dtypes"),
    "errors": Page("Errors", "errors"),
    "libgpuarray": Page(
        "More names of libgpuarray's package",
        "gpuarray basic operations reduction tools",
    ),
}

# Classes whose objects come from functions and methods, not from a call of the class.
GIVEN = {
    *(
        "Array",
        "CacheInfo",
        "Checkpoint",
        "Communicator",
        "Context",
        "Device",
        "Event",
        "Generator",
    ),
    *("LoadedFunction", "MemoryInfo", "Profile", "Queue", "Ufunc"),
}

# What an example would need that not every device and machine has.
ELSEWHERE = {
    "gpuarray.Array.as_pycuda": "PyCUDA and a CUDA device",
    "gpuarray.Array.as_pyopencl": "PyOpenCL and an OpenCL device",
    "gpuarray.Array.get_ipc_handle": "a CUDA device and another process",
    "gpuarray.Array.wrap": "a struct of the library",
    "gpuarray.collectives.GpuComm": "NCCL",
    "gpuarray.collectives.GpuCommCliqueId": "NCCL",
    "gpuarray.distributed.Communicator.recv": "another process",
    "gpuarray.distributed.Communicator.send": "another process",
    "gpuarray.distributed.one_device_per_worker": "a Dask cluster",
    "gpuarray.distributed.run_on_dask": "a Dask cluster",
    "gpuarray.distributed.run_on_ray": "Ray",
    "gpuarray.gpuarray.cl_wrap_ctx": "a cl_context of another library",
    "gpuarray.gpuarray.cuda_wrap_ctx": "a CUcontext of another library",
    "gpuarray.gpuarray.open_ipc_handle": "a CUDA device and another process",
}
