"""The C example: compiled against the toolkit's headers alone, as C, and run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import softcann

SOURCE = Path(__file__).parents[2] / "examples" / "c" / "add.c"


def test_adds_two_tensors_on_a_device(tmp_path: Path) -> None:
    toolkit = softcann.toolkit_path()
    program = tmp_path / "add"
    command = [
        *(os.environ.get("CC", "cc"), "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"),
        *(str(SOURCE), "-o", str(program)),
        *(f"-I{toolkit}/include", f"-L{toolkit}/lib64", "-lascendcl", "-lopapi"),
    ]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stderr

    done = subprocess.run(
        [str(program)], env=softcann.environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    expected = [f"{i} + 2 * {10 * i} = {21 * i}" for i in range(8)]
    assert done.stdout.splitlines() == expected
