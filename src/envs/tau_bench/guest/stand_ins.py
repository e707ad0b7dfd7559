"""Minimal replacements for what a checkout imports from `pydantic` and `litellm`, if these are not installed."""

import importlib
import inspect
import sys
import types


class BaseModel:
    """Stores the given values of the declared fields, and checks that none without a default is missing."""

    def __init__(self, **given):
        for kind in reversed(type(self).__mro__):
            for name in inspect.get_annotations(kind):
                if name in given:
                    setattr(self, name, given[name])
                elif not hasattr(type(self), name):
                    raise ValueError(f"{type(self).__name__} must have {name!r}")

    def model_dump(self):
        return dict(self.__dict__)


def completion(*_args, **_kwargs):
    raise RuntimeError("models cannot be called in the sandbox: users are simulated outside of it")


def _stand_in(name, **contents):
    try:
        importlib.import_module(name)
    except ImportError:
        module = sys.modules[name] = types.ModuleType(name)
        module.__dict__.update(contents)


_stand_in("pydantic", BaseModel=BaseModel)
_stand_in("litellm", completion=completion)
