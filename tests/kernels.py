"""Notebooks run in a fresh kernel, several at a time."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any


def execute(book: Any) -> None:
    """Run every cell of a notebook in a kernel of its own, and leave the outputs in it.

    The kernel is spoken to through sockets in a folder of its own: over TCP it warns that it is not
    encrypted, and without a folder every kernel that was started in one place has sockets of one name.
    """
    from nbclient import NotebookClient
    from traitlets.config import Config

    with tempfile.TemporaryDirectory() as folder:
        own = Config(KernelManager={"transport": "ipc", "ip": str(Path(folder) / "kernel")})
        NotebookClient(book, timeout=120, kernel_name="python3", config=own).execute()
