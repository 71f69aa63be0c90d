"""The refusal of pickles that another version wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from inspect import get_annotations

from ldr.solvers.errors import DataError


class Pickled:
    """A base of dataclasses that open the pickles of their own version alone."""

    def __setstate__(self, state: Mapping[str, object]) -> None:
        own: set[str] = {each.name for each in fields(self)} if is_dataclass(self) else set()
        declared = {name for cls in type(self).__mro__ for name in get_annotations(cls)}
        others = (own - set(state)) | (set(state) - declared - set(dir(type(self))))
        if own and others:
            raise DataError(
                f"a pickled {type(self).__name__} has other attributes than this version's "
                f"({', '.join(sorted(others))}): another version of ldr wrote it; read it with "
                "that one and keep P and mean, which are arrays, or solve again"
            )
        vars(self).update(state)
