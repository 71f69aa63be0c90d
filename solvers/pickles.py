"""Pickles that another version wrote: read as this one would make them, or refused in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields

from ldr.solvers.errors import DataError

OF_ANOTHER = (
    "another version of ldr wrote that pickle and this one cannot read it: read it with the "
    "version that wrote it and keep P and mean, which are arrays, or solve again"
)


class Pickled:
    """A base of dataclasses of which another version may have had other fields.

    A new field has its default; of another, or of one that has gone, nobody knows what it means.
    """

    def __setstate__(self, state: Mapping[str, object]) -> None:
        own = {each.name: each for each in fields(self)}  # type: ignore[arg-type]
        given = {}
        for name, each in own.items():
            if each.default is not MISSING:
                given[name] = each.default
            elif each.default_factory is not MISSING:
                given[name] = each.default_factory()
        given.update(state)
        others = (set(own) - set(given)) | (set(given) - set(own) - set(dir(type(self))))
        if others:
            raise DataError(
                f"a pickled {type(self).__name__} has other attributes than this version's "
                f"({', '.join(sorted(others))}): {OF_ANOTHER}"
            )
        vars(self).update(given)
