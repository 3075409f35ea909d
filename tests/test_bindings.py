"""Other languages on an installed libgpuarray: C, C++, Ruby and R run their examples.

Each opens a device, puts data up, runs an expression, a sum, a matrix product and a
kernel of its own, reads back and catches an error; it fails if a value is wrong. Ruby
and R run a convolution, pooling and a batch normalisation, too. C++ and Ruby also hand
an array that they made to a kernel that a C file launches. C, Ruby and R train with a
step that was compiled and saved in Python, to Python's digits.
"""

import importlib.util

import pytest
from gpuarray._native import prepare
from gpuarray.compiler import config, function, scan, shared, tensor as T
from gpuarray.doctor import devices
from installation import CC, CXX, ROOT, STRICT, cmake, flags, interpreter, run

BINDINGS = ROOT / "bindings"
pytestmark = pytest.mark.usefixtures("device")


@pytest.fixture
def device(first_context):
    """The name of a device that runs kernels; the other tests cover the others."""
    prepare()  # GPUARRAY_WHEEL_PATH, for runtimes from the package index
    return first_context.name


@pytest.fixture(scope="module")
def scale(installed, tmp_path_factory):
    """The C kernel as a library that other languages open."""
    library = tmp_path_factory.mktemp("scale") / "libscale.so"
    source = BINDINGS / "c" / "scale.c"
    run(CC, *STRICT, "-shared", "-fPIC", source, *flags(installed), "-o", library)
    return library


def caught(output):
    """The examples print the error that they provoke last."""
    last = output.strip().splitlines()[-1]
    assert last.startswith("caught: "), output
    return last


@pytest.fixture(scope="module")
def training():
    """The program that writes the file which the examples train with."""
    spec = importlib.util.spec_from_file_location("training", BINDINGS / "train.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def saved(training, device, path, dtype="float32"):
    """Writes the step to the path; the lines that training with it prints in Python."""
    digits = {"float32": 9, "float64": 17}[dtype]
    with config.use(device=device):
        step = training.training_step(dtype)
    training.save(step, path, dtype)
    costs = [step(*training.data(dtype))["cost"] for _ in range(40)]
    lines = [f"step {i}: {costs[i]:.{digits}g}" for i in (0, 10, 20, 30, 39)]
    assert costs[39] < 0.6 * costs[0]
    return [*lines, "w: " + " ".join(f"{w:.{digits}g}" for w in step["w"])]


def lines(output):
    return [line.rstrip() for line in output.splitlines()]


def test_c_trains_as_python_without_compiling(installed, device, training, tmp_path):
    program, file, cache = (tmp_path / name for name in ("train", "plan", "cache"))
    expected = saved(training, device, file)
    source = BINDINGS / "c" / "train.c"
    run(CC, *STRICT, source, *flags(installed), "-o", program)
    places = {"LD_LIBRARY_PATH": str(installed.libraries)}
    out = run(program, file, device, GPUARRAY_CACHE_DIR=str(cache), **places)
    assert lines(out) == expected
    assert not cache.exists()  # what is compiled is put there


def test_ruby_trains_as_python(installed, device, training, tmp_path):
    expected = saved(training, device, tmp_path / "plan")
    places = {"LD_LIBRARY_PATH": str(installed.libraries)}
    program = BINDINGS / "ruby" / "train.rb"
    out = run(interpreter("ruby"), program, tmp_path / "plan", device, **places)
    assert lines(out) == expected


def test_r_trains_as_python(r_places, device, training, tmp_path):
    expected = saved(training, device, tmp_path / "plan", "float64")
    program = BINDINGS / "r" / "train.R"
    out = run(interpreter("Rscript"), program, tmp_path / "plan", device, **r_places)
    found = lines(out)
    assert [line.split(":")[0] for line in found] == [
        line.split(":")[0] for line in expected
    ]
    # R's matrices lie in column-major order, so sums are taken in another one.
    numbers = [float(n) for line in found for n in line.split(":")[1].split()]
    wanted = [float(n) for line in expected for n in line.split(":")[1].split()]
    assert numbers == pytest.approx(wanted, rel=1e-12)


@pytest.fixture
def of_two_contexts(device, tmp_path):
    """The file of a function of two contexts, its devices, and what they print.

    It doubles what is given on one, in a loop that names both, and adds it to a value
    that is kept on the other.
    """
    other = next((n for n in devices("opencl")[0] if n != device), None)
    if other is None:
        pytest.skip("there is one device only")
    x = T.dvector("x")
    x.tag.target = "dev0"
    with config.use(contexts=f"dev0->{device};dev1->{other}", device=device):
        w = shared([1.0, 2.0], "w", target="dev1")
        twice, _ = scan(
            lambda sums, x: (sums.transfer("dev1") + x).transfer("dev0"),
            outputs_info=T.zeros_like(x),
            non_sequences=x,
            n_steps=2,
        )
        total = w + twice[-1].transfer("dev1")
        f = function([x], total.transfer("dev1"), updates={w: total})
        assert "by the host" in str(f.plan)
        f.save(tmp_path / "plan")
    return (
        tmp_path / "plan",
        device,
        other,
        [f"7 10 {other}", f"13 18 {other}", "13 18"],
    )


RUBY = """
require ARGV[0]
own, other = ARGV[2..].map { |name| GpuArray::Context.new(name) }
f = GpuArray::Function.new(own, ARGV[1], { "dev1" => other })
2.times do
  out = f.call(own.array([3, 4], type: :float64)).first
  puts "#{out.to_a.map(&:to_i).join(' ')} #{out.context.name}"
end
puts f["w"].to_a.map(&:to_i).join(" ")
abort unless f.context_of(:inputs, 0) == own
begin
  GpuArray::Function.new(own, ARGV[1])
rescue GpuArray::Error => e
  puts e
end
"""

R = """
library(gpuarray)
a <- commandArgs(TRUE)
own <- gpu_open(a[2])
f <- gpu_load(own, a[1], list(dev1 = gpu_open(a[3])))
for (i in 1:2) {
  out <- gpu_run(f, gpu_array(own, c(3, 4)))[[1]]
  cat(gpu_read(out), paste0(gpu_context_of(f, 1, "outputs"), "\n"))
}
cat(gpu_read(gpu_value(f, "w")), "\n")
stopifnot(gpu_context_of(f, 1) == a[2], gpu_context_of(f, 1, "values") == a[3])
cat(tryCatch(gpu_load(own, a[1]), error = conditionMessage), "\n")
"""


def test_ruby_gives_a_context_for_each_name(installed, of_two_contexts):
    path, *names, expected = of_two_contexts
    places = {"LD_LIBRARY_PATH": str(installed.libraries)}
    library = BINDINGS / "ruby" / "gpuarray.rb"
    out = run(interpreter("ruby"), "-e", RUBY, library, path, *names, **places)
    *found, refused = lines(out)
    assert found == expected
    assert "(dev0, dev1), and none is given for dev1" in refused


def test_r_gives_a_context_for_each_name(r_places, of_two_contexts):
    path, *names, expected = of_two_contexts
    out = run(interpreter("Rscript"), "-e", R, path, *names, **r_places)
    *found, refused = lines(out)
    assert found == expected
    assert "(dev0, dev1), and none is given for dev1" in refused


def test_c_by_pkg_config(installed, device, tmp_path):
    program = tmp_path / "example"
    sources = [BINDINGS / "c" / name for name in ("example.c", "scale.c")]
    run(CC, *STRICT, *sources, *flags(installed), "-o", program)
    out = run(program, device, LD_LIBRARY_PATH=str(installed.libraries))
    assert "reshape: float32 (2, 3)" in caught(out)


@pytest.mark.parametrize(("folder", "name"), [("c", "example"), ("cpp", "example_cpp")])
def test_a_project_by_cmake(installed, device, tmp_path, folder, name):
    prefix = f"-DCMAKE_PREFIX_PATH={installed.prefix}"
    cmake("-S", BINDINGS / folder, "-B", tmp_path, prefix)
    cmake("--build", tmp_path)
    assert "(5,) has 5" in caught(run(tmp_path / name, device))


def test_cpp_without_a_warning(installed, device, tmp_path):
    kernel, program = tmp_path / "scale.o", tmp_path / "example"
    source = BINDINGS / "c" / "scale.c"
    run(CC, *STRICT, "-c", source, *flags(installed)[:1], "-o", kernel)
    strict = ["-std=c++17", *STRICT[1:], "-Wshadow", "-Wconversion"]
    example = BINDINGS / "cpp" / "example.cpp"
    run(CXX, *strict, example, kernel, *flags(installed), "-o", program)
    out = run(program, device, LD_LIBRARY_PATH=str(installed.libraries))
    assert "a kernel from C: 0.5 2 4.5 8 12.5 18\n" in out


def test_ruby(installed, scale, device):
    out = run(
        interpreter("ruby"),
        BINDINGS / "ruby" / "example.rb",
        device,
        LD_LIBRARY_PATH=str(installed.libraries),
        GPUARRAY_SCALE=str(scale),
    )
    assert "a kernel from C: [[0.5, 2.0, 4.5], [8.0, 12.5, 18.0]]\n" in out
    assert "reshape" in caught(out)


def test_r(r_places, device):
    program = BINDINGS / "r" / "example.R"
    out = run(interpreter("Rscript"), program, device, **r_places)
    assert "inner dimensions 3 and 2 differ" in caught(out)
