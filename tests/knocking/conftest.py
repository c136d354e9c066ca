"""The small models of the listening tests, and plain attention written out by hand."""

from __future__ import annotations

from tests.listen.conftest import inputs, plain, tiny  # noqa: F401 - fixtures
