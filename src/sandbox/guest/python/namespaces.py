"""The state that each process has for itself: the contents of its modules and registries, and its working directory."""

import builtins
import collections
import functools
import gc
import os
import sys
import types

MAX_OBJECTS = 1_000_000
"""So many objects are searched for containers when a process is forked."""

REGISTRIES = ("concurrent.", "linecache", "logging", "multiprocessing.", "os", "resource", "sys", "threading", "warnings")
"""Beginnings of the names of modules whose lists, dicts and sets are part of a process's state."""

_modules = sys.modules
_image_names = set()
_kinds = frozenset((dict, list, set))
_module_type = types.ModuleType
_module_dict = types.ModuleType.__dict__["__dict__"].__get__
_object_dict = object.__getattribute__
_getcwd, _chdir = os.getcwd, os.chdir
_get_limit, _set_limit = sys.getrecursionlimit, sys.setrecursionlimit
_is_gc_enabled, _gc_enable, _gc_disable = gc.isenabled, gc.enable, gc.disable
_referents = gc.get_referents
_builtins = builtins.__dict__
_ordered = collections.OrderedDict
_environ = os.environ
_through = (tuple, types.MethodType, types.CellType, functools.partial, types.MappingProxyType)


def remember_image():
    """Notes the modules of the image, which no process has changed."""
    _image_names.update(_modules.keys() - {"__main__"})


class State:
    """The state of a process that does not run."""

    __slots__ = ("modules", "contents", "classes", "directory", "recursion_limit", "zone")


def capture(tracked):
    """Returns the state of the running process. `tracked` has the containers that it shares with forked ones."""
    state = State()
    modules = [module for module in list(_modules.values()) if isinstance(module, _module_type)]
    namespaces = [_module_dict(module) for module in modules]
    state.modules = list(zip(namespaces, map(dict.copy, namespaces)))
    containers, classes = _registries(), []
    for part in tracked:
        containers += part[0]
        classes += part[1]
    state.contents = [(each, _copy(each)) for each in containers]
    state.classes = [(each, dict(type.__dict__["__dict__"].__get__(each))) for each in classes]
    state.recursion_limit = _get_limit()
    state.zone = tuple(_bridge.zone)
    try:
        state.directory = _getcwd()
    except OSError:
        state.directory = None  # it was removed
    return state


def switch(old, new):
    """Replaces the state of one process by that of another."""
    was_enabled = _is_gc_enabled()
    _gc_disable()  # a finalizer must not see parts of both
    try:
        state, new.state = new.state, None
        if old.has_threads():
            old.state = capture(old.tracked)
        else:
            old.forget_shared()
        _restore(state)
    finally:
        if was_enabled:
            _gc_enable()


def _restore(state):
    clear, update = dict.clear, dict.update
    for each, copy in state.modules:
        if each is _builtins:
            update(each, copy)
            for name in [name for name in each if name not in copy]:
                del each[name]
        else:
            clear(each)
            update(each, copy)
    for each, copy in state.contents:
        _fill(each, copy)
    for each, attributes in state.classes:
        _restore_class(each, attributes)
    if state.recursion_limit != _get_limit():
        try:
            _set_limit(state.recursion_limit)
        except RecursionError:
            pass  # the running stack is deeper
    _bridge.set_zone(*state.zone)
    try:
        if state.directory not in (None, _getcwd()):
            _chdir(state.directory)
    except OSError:
        pass  # it was removed


def _copy(each):
    if isinstance(each, dict):
        return dict.copy(each)
    return set(each) if isinstance(each, set) else list(each)


def _fill(each, copy):
    """Sets the contents of a container."""
    if isinstance(each, list):
        list.__setitem__(each, slice(None), copy)
        return
    kind = next(kind for kind in (_ordered, dict, set, collections.deque) if isinstance(each, kind))
    kind.clear(each)
    (kind.extend if kind is collections.deque else kind.update)(each, copy)


def _restore_class(each, attributes):
    current = dict(type.__dict__["__dict__"].__get__(each))
    for name in current:
        if name not in attributes:
            type.__delattr__(each, name)
    for name, value in attributes.items():
        if current.get(name, each) is not value:
            type.__setattr__(each, name, value)


def _registries():
    """Returns containers of the library that its functions change."""
    found = [_environ._data]
    for name, module in list(_modules.items()):
        if type(name) is str and name.startswith(REGISTRIES) and isinstance(module, _module_type):
            found += [each for each in _module_dict(module).values() if type(each) in _kinds and each is not _builtins]
    if (logging := _modules.get("logging")) and type(getattr(logging.root, "handlers", None)) is list:
        found.append(logging.root.handlers)
    if context := _modules.get("multiprocessing.context"):
        found.append(_object_dict(context._default_context, "__dict__"))
    if util := _modules.get("multiprocessing.util"):
        found.append(util._afterfork_registry.data)
    return found


def find_shared(roots):
    """Returns the containers and the classes that a forked process shares with its parent and must not change there."""
    containers, classes, seen = [], [], set()
    waiting = list(roots)
    for name, module in list(_modules.items()):
        if name not in _image_names and isinstance(module, _module_type) and is_user_module(module):
            waiting.append(_module_dict(module))
    while waiting and len(seen) < MAX_OBJECTS:
        level, waiting = waiting, []
        for each in level:
            if id(each) not in seen:
                seen.add(id(each))
                waiting += _parts_of(each, containers, classes)
    return containers, classes


def _parts_of(each, containers, classes):
    """Records an object if it is a container or a class. Returns the objects that it refers to."""
    kind = type(each)
    if kind in (int, str, float, bytes, bool, type(None)) or isinstance(each, _module_type):
        return ()
    if isinstance(each, dict):
        containers.append(each)
        return [*dict.values(each), *dict.keys(each)]
    if isinstance(each, (list, set, collections.deque)):
        containers.append(each)
        return _referents(each)
    if isinstance(each, _through):
        return _referents(each)
    if isinstance(each, types.FunctionType):
        return [each.__closure__, each.__defaults__, each.__kwdefaults__, each.__dict__]
    if isinstance(each, type):
        if not is_user_module(_modules.get(each.__module__)):
            return ()
        classes.append(each)
        return list(type.__dict__["__dict__"].__get__(each).values())
    return [_object_dict(each, "__dict__")] if kind.__dictoffset__ else ()


def is_user_module(module):
    """True if a module is from a file of the session, or the main one."""
    if module is _modules.get("__main__"):
        return True
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and not file.startswith("/lib/")
