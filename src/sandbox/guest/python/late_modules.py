"""Modules of the sandbox that are executed when a program first uses them, so that no session's memory has them before."""

import io
import marshal
import types

FOLDER = "/lib/python3.14/lib-dynload/_late"
NAMES = (
    "addresses ancillary checks connections endpoints epoll handshake hosts messages options outside polling socket_data socket_type streams tls"
).split()

_FileIO = io.FileIO


class LateModule(types.ModuleType):
    """A module whose file was not executed yet."""

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        code = _code_of(self.__name__)
        self.__class__ = types.ModuleType
        try:
            exec(code, self.__dict__)
        except BaseException:  # such as an interrupt: the next use executes the file again
            self.__class__ = LateModule
            raise
        return getattr(self, name)


def make_modules(names):
    """Returns the late modules, by the names by which modules of the sandbox refer to one another."""
    modules = {f"_{name}": LateModule(name) for name in NAMES}
    for module in modules.values():
        vars(module)["__builtins__"] = names
    return modules


def _code_of(name):
    """Returns the code of a module. Workers without processes have no byte code."""
    try:
        return marshal.loads(memoryview(_read(f"{FOLDER}/{name}.pyc"))[16:])
    except FileNotFoundError:
        return compile(_read(f"{FOLDER}/{name}.py"), f"<paddock {name}>", "exec", dont_inherit=True)


def _read(path):
    with _FileIO(path) as file:
        return file.readall()


def late_function(module, name):
    """Returns a function that calls a function of a late module."""

    def call(*args, **options):
        try:
            return getattr(module, name)(*args, **options)
        finally:
            del args, options  # the traceback of an exception holds this frame

    return call


class LateAttribute:
    """An attribute of a class that `fill` replaces when the late module of the class is executed."""

    __slots__ = ("_class", "_module", "_name")

    def __init__(self, owner, module, name):
        self._class, self._module, self._name = owner, module, name


def _get_late(attribute, instance, owner=None):
    getattr(attribute._module, attribute._class.__name__)
    found = attribute._class.__dict__[attribute._name]
    if found is attribute:
        raise AttributeError(attribute._name)
    return found.__get__(instance, owner) if hasattr(type(found), "__get__") else found


def add_late_attributes(owner, module, names):
    for name in names:
        setattr(owner, name, LateAttribute(owner, module, name))


def enable_late_attributes():
    """Ends the time in which the image is made, where code of the library looks whether classes have attributes."""
    LateAttribute.__get__ = _get_late


def fill(owner, *sources):
    """Replaces the late attributes of a class by those of others."""
    for source in sources:
        for name, value in list(vars(source).items()):
            if isinstance(value, (property, classmethod)) or callable(value):
                setattr(owner, name, value)
