"""Adds code of the sandbox to modules of the standard library, when a program imports them."""

import importlib.machinery
import os
import sys

ADDITIONS = "/lib/python3.14/lib-dynload/_additions"
NAMES = (
    "csv",
    "webbrowser",
    *(f"multiprocessing.{name}" for name in ("connection", "context", "heap", "managers", "resource_tracker", "util")),
)

_path_finder = importlib.machinery.PathFinder


class _Loader:
    """Executes a module of the library, and then the additions in its namespace."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        path = f"{ADDITIONS}/{module.__name__.rpartition('.')[2]}.py"
        with open(path, "rb") as file:
            source = file.read()
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)


class AdditionsFinder:
    """Finds the modules that have additions."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in NAMES:
            return None
        spec = _path_finder.find_spec(name, path, target)
        if spec is not None:
            spec.loader = _Loader(spec.loader)
        return spec


sys.meta_path.insert(0, AdditionsFinder)
