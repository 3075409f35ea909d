"""What became of mutants: kept in a file, counted and listed."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from .orders import tell
from .trees import Mutant, mutants_of


def write(path: Path, value: Any) -> None:
    """Write JSON, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(f".{os.getpid()}")
    beside.write_text(json.dumps(value))
    beside.replace(path)


class State:
    """What became of mutants, in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, Any] = (
            json.loads(path.read_text()) if path.exists() else {}
        )

    def note(self, mutant: Mutant, outcome: str) -> None:
        """Keep what became of one."""
        self.found[mutant.key] = [mutant.file, outcome, mutant.text]
        write(self.path, self.found)

    def outcome(self, mutant: Mutant) -> str | None:
        """The first word of what became of one."""
        found = self.found.get(mutant.key)
        return found[1].partition(" ")[0] if found else None

    def noticed_by(self, file: str) -> Counter[str]:
        """The tests that noticed mutants of a file, and how many."""
        return Counter(
            outcome.removeprefix("killed ").rpartition(" (")[0]
            for other, outcome, _ in self.found.values()
            if other == file and outcome.startswith("killed ")
        )


def list_known(order: dict[str, Any]) -> None:
    """Print what is known of the mutants of some files."""
    state = State(Path(order["state"]))
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for mutant in mutants_of(order["paths"]):
        outcome = state.outcome(mutant)
        counts[str(Path(mutant.file).parent)][outcome or "not run"] += 1
        if outcome in ("survived", "uncovered"):
            place = f"{mutant.file}:{mutant.line}"
            tell(f"{place} {outcome}: {mutant.text} [{mutant.key}]")
    for package, found in counts.items():
        tell(f"{package} {dict(found)}")
