"""These tests are of transformers 4; with a newer one on the path there is nothing to run."""

from __future__ import annotations

from importlib.metadata import version

collect_ignore_glob = [] if version("transformers").startswith("4.") else ["test_*.py"]
