"""The end of a program: its modules and objects go as at the end of `python`."""

import gc
import io
import sys
import types
import weakref

WORDS = ("__del__", "async", "await", "contextmanager", "warn", "weakref", "yield")
"""Source without these creates no object whose end a program can see: none has a finalizer or suspended code."""

_modules = sys.modules
_module_type = types.ModuleType
_module_dict = types.ModuleType.__dict__["__dict__"].__get__
_collect = gc.collect
_image_names = frozenset(_modules) - {"__main__"}
_plain_hook = sys.__unraisablehook__


def begin_program(names=None):
    """Makes a new module the main one, since that of the image would be no garbage when the program ends."""
    main = _module_type("__main__")
    _module_dict(main).update(names or {})
    _modules["__main__"] = main


def drop_names():
    """Removes the program's names from the main module."""
    if isinstance(main := _modules.get("__main__"), _module_type):
        _module_dict(main).clear()
        main.__name__ = "__main__"


def is_visible(source):
    """True if a program can see the end of its objects. The source of its own modules is not known."""
    return any(word in source for word in WORDS) or len(_own_names()) > 1


def _own_names():
    """Returns the names of the main module and of the program's own modules."""
    names = ["__main__"]
    for name in reversed(list(_modules)):
        if name in _image_names:
            break  # those of the image come first
        if name != "__main__" and _names.is_user_module(_modules[name]):
            names.insert(1, name)
    return names


def release():
    """
    Removes the main module and the program's own modules, and collects what they hold, so that finalizers still find
    the names of their module. Modules that something else holds lose their names after that.
    """
    _errors.block[0] = "<sys>"
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, name, getattr(sys, f"__{name}__", None))
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        vars(sys).pop(name, None)
    names = _own_names()
    finders, hook = sys.meta_path, sys.unraisablehook
    if hook is _plain_hook:
        sys.unraisablehook = _print_unraisable
    try:
        _collect()  # it decides about the order in which the objects go
        held = [_remove(name) for name in names]
        sys.meta_path = None  # no module can be imported any more
        _modules.pop("io", None)  # so that C code shows no source, as at the end of `python`
        _collect()
        for reference in reversed(held):
            _clear(reference)
        _signals.drop_handlers()
        _collect()
    finally:
        _modules["io"] = io
        sys.meta_path, sys.unraisablehook = finders, hook


def _remove(name):
    """Removes a module, and returns a weak reference to it."""
    module = _modules.pop(name, None)
    return weakref.ref(module) if isinstance(module, _module_type) else None


def _clear(reference):
    """Sets the names of a module to None: first those with one underscore, as CPython does."""
    module = reference and reference()
    if module is None:
        return
    names = _module_dict(module)
    for is_private in (True, False):
        for name in list(names):
            if name != "__builtins__" and (name[:1] == "_" and name[1:2] != "_") is is_private:
                names[name] = None


def report_ignored(error, text):
    """Reports an exception that ends nothing, with the program's hook if there is one."""
    trace = error.__traceback__.tb_next
    args = _args_type((type(error), error, trace, text, None))
    hook = sys.unraisablehook
    try:
        hook(args)
    except BaseException as second:
        _plain_hook(_args_type((type(second), second, second.__traceback__, "Exception ignored in sys.unraisablehook", hook)))


def _print_unraisable(args):
    """Prints an exception of a finalizer without the frames that collect it."""
    trace = args.exc_traceback
    while trace and trace.tb_frame.f_code.co_filename.startswith("<paddock "):
        trace = trace.tb_next
    _plain_hook(_args_type((args.exc_type, args.exc_value, trace, args.err_msg, args.object)))


def _find_args_type():
    """Returns the type of what `sys.unraisablehook` gets, which has no public name."""

    class Failing:
        def __del__(self):
            raise ValueError

    found = []
    sys.unraisablehook = found.append
    Failing()
    sys.unraisablehook = _plain_hook
    return type(found.pop())


_args_type = _find_args_type()
