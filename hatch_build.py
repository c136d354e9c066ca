"""Compile the native engine when attnscope is installed, and let the installation succeed without it.

A wheel that holds the library is for this platform and for every Python 3; one without it is for all. An
editable installation gets the library into src/.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.builders.wheel import WheelBuilderConfig


class NativeEngine(BuildHookInterface[WheelBuilderConfig]):
    """Runs native/compile.py before a wheel is made, which says what ATTNSCOPE_NATIVE and CXX do."""

    folder: TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and put the library into the wheel. Raises NotCompiled only where it is insisted on."""
        compiling = _compiling(Path(self.root))
        asked = compiling.asked()
        if self.target_name != "wheel" or asked == "0":
            return
        inside = compiling.PLACE.relative_to(Path(self.root, "src").resolve())
        try:
            if version == "editable":
                self.app.display_info(compiling.compile_into(compiling.PLACE))
                return
            self.folder = TemporaryDirectory(prefix="attnscope-", ignore_cleanup_errors=True)
            library = Path(self.folder.name, compiling.NAME)
            self.app.display_info(compiling.compile_into(library))
        except compiling.NotCompiled as reason:
            if asked == "1":
                raise
            self.app.display_warning(f"native engine: not compiled, {reason}; the torch engine serves")
            why = None if self.folder is None else Path(self.folder.name, compiling.NAME).with_suffix(".txt")
            if why is not None and why.exists():
                build_data["force_include"][str(why)] = inside.with_suffix(".txt").as_posix()
            return
        build_data["force_include"][str(library)] = inside.as_posix()
        build_data["pure_python"] = False
        platform = self.build_config.builder.get_best_matching_tag().rsplit("-", 1)[1]
        build_data["tag"] = f"py3-none-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was compiled, which is in the wheel by now."""
        if self.folder is not None:
            self.folder.cleanup()


def _compiling(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("attnscope_compile", root / "native" / "compile.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"{root / 'native' / 'compile.py'} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
