"""A hand-made WebAssembly side module that calls JavaScript through Pyodide's own imports."""

import ctypes
import os


def _leb(number):
    out = bytearray()
    while True:
        byte = number & 0x7F
        number >>= 7
        if number == 0:
            return bytes(out + bytes([byte]))
        out.append(byte | 0x80)


def _vector(items):
    return _leb(len(items)) + b"".join(items)


def _name(text):
    return _leb(len(text)) + text.encode()


def _section(number, body):
    return bytes([number]) + _leb(len(body)) + body


_I, _E = b"\x7f", b"\x6f"  # i32, externref
_IMPORTS = {
    "JsvObject_New": ([], [_E]),
    "JsvUTF8ToString": ([_I], [_E]),
    "JsProxy_GetAttr_js": ([_E, _I], [_E]),
    "JsvFunction_Call_OneArg": ([_E, _E], [_E]),
    "JsvObject_CallMethod_OneArg": ([_E, _E, _E], [_E]),
    "JsvObject_SetAttr": ([_E, _E, _E], [_I]),
    "JsvFunction_Construct": ([_E, _E], [_E]),
    "JsvArray_New": ([], [_E]),
    "JsvArray_Push": ([_E, _E], [_I]),
    "JsvObject_toString": ([_E], [_E]),
    "JsvNum_toInt": ([_E], [_I]),
    "JsvNum_fromInt": ([_I], [_E]),
}


def _function_type(params, results):
    return b"\x60" + _vector(params) + _vector(results)


def _wrapper(at, params, results):
    """Takes table slots in place of externrefs, the slot of the result first."""
    loads = b"".join(
        b"\x20" + _leb(i + 1) + (b"\x25\x00" if kind == _E else b"") for i, kind in enumerate(params)
    )
    call = b"\x10" + _leb(at)
    if results == [_E]:
        body = b"\x20\x00" + loads + call + b"\x26\x00\x41\x00"
    else:
        body = loads + call
    body = b"\x00" + body + b"\x0b"
    return _leb(len(body)) + body


def build_module(custom=b""):
    signatures = list(_IMPORTS.values())
    types = [_function_type(*signature) for signature in signatures]
    types += [_function_type([_I] * (1 + len(params)), [_I]) for params, _ in signatures]
    imports = [_name("env") + _name(name) + b"\x00" + _leb(i) for i, name in enumerate(_IMPORTS)]
    count = len(signatures)
    return b"".join([
        b"\0asm\1\0\0\0",
        _section(0, _name("dylink.0") + b"\x01\x04\x00\x00\x00\x00"),
        _section(1, _vector(types)),
        _section(2, _vector(imports)),
        _section(3, _vector([_leb(count + i) for i in range(count)])),
        _section(4, _vector([_E + b"\x00" + _leb(1 << 20)])),
        _section(7, _vector([_name(f"call_{name}") + b"\x00" + _leb(count + i) for i, name in enumerate(_IMPORTS)])),
        _section(10, _vector([_wrapper(i, *signature) for i, signature in enumerate(signatures)])),
        custom,
    ])


class Js:
    """A JavaScript value in a slot of the module's table."""

    _next = [1]
    _library = None

    def __init__(self, function, *args):
        self.slot = Js._next[0] = Js._next[0] + 1
        _call(function, self.slot, *args)

    def __getattr__(self, name):
        return Js("JsProxy_GetAttr_js", self, name.encode())

    def __setitem__(self, name, value):
        _call("JsvObject_SetAttr", 0, self, text(name), value)

    def __call__(self, argument):
        return Js("JsvFunction_Call_OneArg", self, argument)

    def method(self, name, argument):
        return Js("JsvObject_CallMethod_OneArg", self, text(name), argument)

    def construct(self, *args):
        array = Js("JsvArray_New")
        for argument in args:
            _call("JsvArray_Push", 0, array, argument)
        return Js("JsvFunction_Construct", self, array)

    def __str__(self):
        shown = Js("JsvObject_toString", self)
        length = _call("JsvNum_toInt", 0, shown.length)
        codes = (shown.method("charCodeAt", Js("JsvNum_fromInt", i)) for i in range(length))
        return "".join(chr(_call("JsvNum_toInt", 0, code)) for code in codes)


def _call(function, slot, *args):
    if Js._library is None:
        with open("/home/pyodide/bridge.so", "wb") as file:
            file.write(build_module())
        Js._library = ctypes.CDLL("/home/pyodide/bridge.so")
    plain = [argument.slot if isinstance(argument, Js) else argument for argument in args]
    return getattr(Js._library, f"call_{function}")(slot, *plain)


def text(value):
    return Js("JsvUTF8ToString", value.encode())


def empty_object():
    return Js("JsvObject_New")
