"""Files of code are short enough to be seen as a whole, those of tests, too."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = "benchmarks bindings cmake compiler examples libgpuarray-py tests tools"
KINDS = {".c", ".h", ".def", ".inc", ".cpp", ".hpp", ".py", ".R", ".rb", ".cmake"}
MOST = 500


def test_no_file_of_code_has_more_than_500_lines():
    paths = [
        path
        for folder in FOLDERS.split()
        for path in (ROOT / folder).rglob("*")
        if path.suffix in KINDS
    ]
    assert len(paths) > 1500
    lines = {path: len(path.read_text().splitlines()) for path in paths}
    long = [f"{path.relative_to(ROOT)} ({n})" for path, n in lines.items() if n > MOST]
    assert not long, f"split by subject what has over {MOST} lines: {', '.join(long)}"
