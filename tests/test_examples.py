"""The example programs, run as a user runs them, on every context."""

import os
import re
import subprocess
import sys
from pathlib import Path

import gpuarray
import numpy as np
import pytest
from installation import CC, STRICT, flags, run as run_program
from sklearn.datasets import load_digits

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def run(name, context, *options):
    command = [sys.executable, EXAMPLES / name, "--context", context.name, *options]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_simple(context):
    out = run("simple.py", context)
    assert out.splitlines()[0].split() == ["[", "0.", "2.", "1026.]"] or (
        re.sub(r"[\[\]\s]+", " ", out.splitlines()[0]).split() == ["0.", "2.", "1026."]
    )
    assert out.count("launch") == 1
    assert "pow" not in out


@pytest.mark.parametrize("name", ["check1.py", "check2.py"])
def test_the_exp_loop(context, name):
    out = run(name, context, "--iters", "20")
    assert f"Used the {'cpu' if context.is_cpu else 'gpu'}" in out
    values = re.search(r"Result is \[([\d. ]+)", out)
    assert values is not None
    first = [float(v) for v in values[1].split()[:3]]
    assert first[:3] == pytest.approx([1.2317803, 1.6187934, 1.5227807], rel=1e-5)
    assert ("HostFromGpu" in out) == (name == "check1.py")


def test_logistic_regression_learns(context):
    out = run("logreg.py", context, "--steps", "1500")
    last = out.strip().splitlines()[-1]
    found = re.fullmatch(
        r"demo: device=(.+) accuracy=([\d.]+) steps_per_second=(\d+)", last
    )
    assert found, last
    assert float(found[2]) >= 0.95


def test_a_convolutional_network_learns(context):
    out = run("convnet.py", context, "--epochs", "4")
    *_, losses, last = lines = out.strip().splitlines()
    first, final = map(float, re.fullmatch(r"loss (.+) to (.+)", losses).groups())
    assert final < first / 4
    found = re.fullmatch(
        r"convnet: device=(.+) accuracy=([\d.]+) images_per_second=(\d+)", last
    )
    assert found, last
    assert float(found[2]) >= 0.93
    filters = [line for line in lines if re.fullmatch(r"[ ░▒▓█]+", line)]
    assert len(filters) == 6 and len(set(filters)) > 1


def test_a_residual_network_learns(context):
    out = run("resnet.py", context, "--epochs", "2", "--width", "8")
    found = re.fullmatch(
        r"resnet: device=(.+) accuracy=([\d.]+) images_per_second=(\d+)",
        out.strip().splitlines()[-1],
    )
    assert found, out
    assert float(found[2]) >= 0.93


def write_pgm(path, image):
    rows = "\n".join(" ".join(str(int(pixel)) for pixel in row) for row in image)
    path.write_text(f"P2\n8 8\n16\n{rows}\n")


def test_a_trained_network_classifies_from_c(installed, first_context, tmp_path):
    """One C file, and the same digits as the network has for Python."""
    network, program = tmp_path / "digits.plan", tmp_path / "classify_digits"
    run("convnet.py", first_context, "--epochs", "2", "--save", network)
    source = EXAMPLES / "classify_digits.c"
    run_program(CC, *STRICT, source, *flags(installed), "-o", program)
    data = load_digits()
    images = data.images[:12]
    paths = [tmp_path / f"{number}.pgm" for number in range(len(images))]
    for path, image in zip(paths, images, strict=True):
        write_pgm(path, image)
    places = {"LD_LIBRARY_PATH": str(installed.libraries)}
    out = run_program(program, network, first_context.name, *paths, **places)
    found = [line.split(": ") for line in out.splitlines()]
    assert [name for name, _ in found] == [str(path) for path in paths]
    digits = np.array([int(digit) for _, digit in found])
    predict = gpuarray.load_function(network, first_context)
    right = predict((images[:, None] / 16).astype("float32"))
    assert digits.tolist() == np.asarray(right).tolist()
    assert (digits == data.target[:12]).sum() >= 9
    paths[0].write_text("P2 9 9 16")
    with pytest.raises(AssertionError, match="expected a PGM file of text, 8 by 8"):
        run_program(program, network, first_context.name, paths[0], **places)
