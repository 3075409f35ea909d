"""Messages of what surrounds the process: its environment, folders and libraries."""

import os
import re
import subprocess
import sys

import pytest
from gpuarray import doctor

# ---- what surrounds the process ----

SMALL = """
import numpy, gpuarray
c = gpuarray.context({name!r})
a = gpuarray.asarray(numpy.arange(5, dtype="float32"), context=c)
assert numpy.asarray(a + a).tolist() == [0, 2, 4, 6, 8]
print(c.cache_info())
"""


def in_a_process(text, **environment):
    variables = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        env=variables,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_missing_library_is_named_with_the_fix(tmp_path):
    code, said = in_a_process(
        "import gpuarray; gpuarray.context('opencl')",
        GPUARRAY_OPENCL=str(tmp_path / "none.so"),
    )
    assert code != 0
    assert "none.so" in said and "gpuarray.doctor" in said
    assert "LibraryMissing" in said or "DeviceNotFound" in said


def test_the_doctor_reports_without_any_device(tmp_path):
    missing = str(tmp_path / "none.so")
    code, said = in_a_process(
        "import runpy; runpy.run_module('gpuarray.doctor', run_name='__main__')",
        GPUARRAY_OPENCL=missing,
        GPUARRAY_CUDA_DRIVER=missing,
    )
    assert code == 1
    assert "default context: none" in said
    assert "Traceback" not in said
    for line in (
        "  For NVIDIA cards: the driver comes with the system, ",
        "  with  pip install nvidia-cuda-nvrtc nvidia-cublas",
        "  For a machine without a card, an OpenCL runtime for its processor:",
        "    pip install intel-opencl-rt intel-cmplr-lib-rt",
        "  For other cards, the vendor's OpenCL driver, listed in /etc/OpenCL/vendors.",
    ):
        assert f"\n{line}" in said


@pytest.mark.parametrize(("argument", "status"), [("--help", 0), ("--no-such", 2)])
def test_the_doctor_says_what_it_is_for(capsys, argument, status):
    with pytest.raises(SystemExit) as ended:
        doctor.main([argument])
    assert ended.value.code == status
    assert "python -m gpuarray.doctor" in "".join(capsys.readouterr())


def test_the_doctor_reports_a_setting_that_names_nothing():
    code, said = in_a_process(
        "import runpy; runpy.run_module('gpuarray.doctor', run_name='__main__')",
        GPUARRAY_DEVICE="banana",
    )
    assert code == 1
    assert "default context: none" in said and "'banana' names no device" in said
    assert "Traceback" not in said


def test_damaged_cache_files_are_made_anew(context, tmp_path):
    text = SMALL.format(name=context.name)
    folder = str(tmp_path)
    code, said = in_a_process(text, GPUARRAY_CACHE_DIR=folder)
    assert code == 0 and "damaged=0" in said, said
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    if not files:
        pytest.skip("this device's compiled kernels cannot be kept")
    code, said = in_a_process(text, GPUARRAY_CACHE_DIR=folder)
    assert code == 0 and "compiled=0" in said and "disk_hits=0" not in said, said
    for path in files:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(data)
    code, said = in_a_process(text, GPUARRAY_CACHE_DIR=folder)
    assert code == 0 and "disk_hits=0" in said, said
    assert "damaged=0" not in said


def test_a_cache_folder_that_cannot_be_written_costs_only_time(context, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    code, said = in_a_process(
        SMALL.format(name=context.name), GPUARRAY_CACHE_DIR=str(blocked / "cache")
    )
    assert code == 0, said
    assert "disk_hits=0" in said


@pytest.mark.parametrize(
    "asked",
    [
        "gpuarray.count_devices({kind!r}, {platform})",
        "lib.gpuarray_search_report({kind!r}.encode())",
    ],
)
def test_devices_asked_for_after_a_fork_are_refused(context, asked):
    """The parent only counted; a runtime without its threads would wait for ever."""
    kind, platform = context.kind, "".join(re.findall(r"(\d+):", context.name)) or "0"
    code, said = in_a_process(
        f"""
import os, gpuarray
from gpuarray._native import lib, prepare
prepare()
{asked.format(kind=str(kind), platform=platform)}
child = os.fork()
if child == 0:
    for ask in (
        lambda: gpuarray.count_devices({str(kind)!r}, {platform}),
        lambda: gpuarray.count_platforms({str(kind)!r}),
        lambda: gpuarray.context({context.name!r}),
        lambda: gpuarray.context({str(kind)!r}),
        lambda: gpuarray.get_default_context(),
    ):
        try:
            ask()
        except gpuarray.ForkedContext as error:
            print("refused:", error, flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
gpuarray.context({context.name!r})
""",
        GPUARRAY_DEVICE=context.name,
    )
    assert code == 0, said
    assert said.count("refused:") == 5 and "spawn" in said, said


def test_a_context_used_after_a_fork_says_so(context):
    code, said = in_a_process(f"""
import os, gpuarray
a = gpuarray.zeros(3, "float32", {context.name!r})
child = os.fork()
if child == 0:
    try:
        a + a
    except gpuarray.ForkedContext as error:
        print("refused:", error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
a.sync()
""")
    assert code == 0, said
    assert "refused" in said and "spawn" in said


IMPORT = """
import gpuarray
with open("/proc/self/maps") as maps:
    mapped = maps.read()
found = [n for n in ("OpenCL", "libcuda", "intelocl", "nvrtc", "pocl") if n in mapped]
print(found)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_import_maps_no_vendor_library():
    assert in_a_process(IMPORT) == (0, "[]\n")
