"""`python -m attnscope` is the command `attnscope`, for where the command itself is not on the path."""

from __future__ import annotations

from attnscope.cli.main import main

if __name__ == "__main__":
    main()
