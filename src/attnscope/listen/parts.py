"""The modules of the model that is listened to, by name, and those that are like them."""

from __future__ import annotations

from torch import nn


class Parts:
    """A model's modules, held meanwhile, so that no id is given away to another one."""

    def __init__(self, model: nn.Module) -> None:
        self.modules: dict[str, nn.Module] = dict(model.named_modules())
        self._names: dict[int, str] = {id(module): name for name, module in self.modules.items()}
        own = (type(module) for module in self.modules.values())
        self._kinds = {type(model), *(kind for kind in own if not kind.__module__.startswith("torch."))}

    def knows(self, module: nn.Module) -> bool:
        """Whether a module is part of this model."""
        return id(module) in self._names

    def name_of(self, module: nn.Module, otherwise: str = "") -> str:
        """The dotted name of a module within the model."""
        return self._names.get(id(module), otherwise)

    def like(self, module: nn.Module) -> bool:
        """Whether a module is of a kind that the model has, those of torch itself left out."""
        return type(module) in self._kinds
