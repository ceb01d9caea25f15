"""Rules for every record of a package: nobody changes it, its fields are named, its defaults fit."""

from __future__ import annotations

import importlib
import pkgutil

import msgspec


def records_of(package: str) -> list[type[msgspec.Struct]]:
    """The record classes that a package makes, by name; those with an underscore are its own affair."""
    top = importlib.import_module(package)
    modules = [
        importlib.import_module(found.name) for found in pkgutil.iter_modules(top.__path__, f"{package}.")
    ]
    found = {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type(msgspec.Struct)) and value.__module__ == module.__name__
    }
    return sorted((cls for cls in found if not cls.__name__.startswith("_")), key=lambda cls: cls.__name__)


def hold_to_the_rules_of_records(cls: type[msgspec.Struct]) -> None:
    """Nothing is changed after it is made, arguments are named, and a default is a value of its field's type."""
    assert cls.__struct_config__.frozen
    assert cls.__match_args__ == (), "fields are given by name"
    for field in msgspec.structs.fields(cls):
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        elif field.default is not msgspec.NODEFAULT:
            default = field.default
        else:
            continue
        if default != "" or not _takes(field.type, "x"):  # an empty text says that a text was not given
            msgspec.convert(msgspec.to_builtins(default), field.type)


def _takes(kind: object, value: object) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True
