"""Which aclnn functions softcann has executed, read from the file that SOFTCANN_TRACE names."""

from __future__ import annotations

from pathlib import Path


class Trace:
    """Reads what was appended since the last look; what a stream has yet to run is not there yet.

    The variable must be set when the process starts: importing torch_npu reads the settings.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def executed(self) -> set[str]:
        """The functions whose execution succeeded since the last call."""
        if not self._path.exists():
            return set()
        with self._path.open("rb") as file:
            file.seek(self._offset)
            text = file.read()
            self._offset = file.tell()
        lines = (line.split("\t") for line in text.decode().splitlines())
        return {name for name, *_, code in lines if name.startswith("aclnn") and code == "0"}
