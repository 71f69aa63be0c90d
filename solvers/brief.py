"""How what has parameters is shown: by those that differ from their defaults."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields, is_dataclass


class Brief:
    """Base of classes whose repr leaves out what nobody set, as scikit-learn's estimators do."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]  # else `dataclass` writes its own

    def __repr__(self) -> str:
        given: tuple[Field[object], ...] = fields(self) if is_dataclass(self) else ()
        values = {each: repr(getattr(self, each.name)) for each in given if each.repr}
        changed = (f"{each.name}={it}" for each, it in values.items() if it != _usual(each))
        return f"{type(self).__name__}({', '.join(changed)})"


def _usual(field: Field[object]) -> str | None:
    """The repr of a field's default; None where it has none."""
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return None if default is MISSING else repr(default)
