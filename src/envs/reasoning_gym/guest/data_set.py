"""Opens a data set of reasoning-gym without the others, some of which need numpy or pycosat."""

import functools
import importlib
import io
import json
import sys
import types
from contextlib import redirect_stdout

PARTS = ("attributes", "base_curriculum")


def open_package(folder):
    """Makes the package importable by its modules, without its own imports of all data sets."""
    sys.path.insert(0, folder)
    spec = importlib.machinery.PathFinder.find_spec("reasoning_gym", [folder])
    if spec is None:
        raise ImportError("there is no package 'reasoning_gym'")
    root = list(spec.submodule_search_locations)
    _package("reasoning_gym", root)
    _package("reasoning_gym.coaching", [f"{path}/coaching" for path in root])
    for part in PARTS:  # the whole of it imports the factory, which imports it
        module = importlib.import_module(f"reasoning_gym.coaching.{part}")
        names = {name: value for name, value in vars(module).items() if not name.startswith("_")}
        vars(sys.modules["reasoning_gym.coaching"]).update(names)


def open_data_set(module):
    """Imports the module of a data set, which registers the data set."""
    category = module.split(".")[0]
    _package(f"reasoning_gym.{category}", [f"{path}/{category}" for path in sys.modules["reasoning_gym"].__path__])
    importlib.import_module(f"reasoning_gym.{module}")


def entry(name, seed, config):
    """Returns the question and the answer of an entry."""
    found = _entry(name, seed, config)
    return {"question": found["question"], "answer": found["answer"]}


def score(name, seed, config, answer):
    """Returns the data set's own score of an answer."""
    with redirect_stdout(io.StringIO()):
        return float(_data_set(name, seed, config).score_answer(answer, _entry(name, seed, config)))


@functools.lru_cache(maxsize=16)
def _data_set(name, seed, config):
    factory = importlib.import_module("reasoning_gym.factory")
    return factory.create_dataset(name, **json.loads(config), seed=seed)


@functools.lru_cache(maxsize=16)
def _entry(name, seed, config):
    with redirect_stdout(io.StringIO()):
        return _data_set(name, seed, config)[0]


def _package(name, paths):
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = paths
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, module)
