"""Rich values: `display()` and the names of `IPython.display`, and the figures of matplotlib."""

import base64
import builtins
import contextlib
import importlib.machinery
import io
import json
import os
import sys
import types

METHODS = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_pdf_": "application/pdf",
    "_repr_latex_": "text/latex",
    "_repr_json_": "application/json",
}
"""Methods by which an object shows itself, in IPython's terms."""

IMAGE_TYPES = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}
PLAIN = frozenset((bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, range, type(len), type))
"""Types of which a value has no other form than its repr."""

BACKEND = "_paddock_matplotlib"
_send = _bridge.display
_sinks = [_send]
"""Functions that take what is shown. The last one is in use."""
_dumps = json.dumps


def show_value(value):
    """Shows the value of a block if it has a form beside its repr."""
    if type(value) not in PLAIN:
        data = _bundle_of(value)
        if data:
            _send_bundle(data)  # without the repr, which the result has


def display(*objects, include=None, exclude=None, metadata=None, raw=False, display_id=None, clear=False, **_options):
    """Shows objects in their richest forms. With `raw`, objects are dicts of data by MIME type."""
    if clear:
        clear_output()
    for value in objects:
        data = dict(value) if raw else _bundle_of(value)
        if include is not None:
            data = {name: part for name, part in data.items() if name in include}
        if exclude is not None:
            data = {name: part for name, part in data.items() if name not in exclude}
        _show(value, data)
    if display_id is not None:
        return DisplayHandle(display_id)


def clear_output(wait=False):
    """Removes what the block has shown so far. Printed text stays."""
    _send(b"")


class DisplayHandle:
    """Shows another object in the place of an earlier one; here after it."""

    def __init__(self, display_id=None):
        self.display_id = display_id

    def display(self, value, **options):
        display(value, **options)

    update = display


def update_display(value, *, display_id, **options):
    """Shows an object again."""
    display(value, **options)


def _show(value, data):
    data.setdefault("text/plain", _pretty.pretty(value) if hasattr(builtins, "get_ipython") else repr(value))
    _send_bundle(data)


@contextlib.contextmanager
def captured(outputs):
    """Adds what is shown to a list."""
    _sinks.append(outputs.append)
    try:
        yield
    finally:
        _sinks.pop()


def _send_bundle(data):
    encoded = {name: _encode(part) for name, part in data.items() if part is not None}
    _sinks[-1](_dumps(encoded).encode("utf-8", "backslashreplace"))


def _encode(part):
    return base64.b64encode(part).decode() if isinstance(part, (bytes, bytearray, memoryview)) else part


def _bundle_of(value):
    """Returns the forms of a value by MIME type, without its repr. Errors of its methods are printed."""
    kind = type(value)
    if isinstance(value, type):
        return {}
    data = {}
    if getattr(kind, "_repr_mimebundle_", None) is not None:
        data.update(_data_of(_call(value._repr_mimebundle_, include=None, exclude=None)) or {})
    for method, name in METHODS.items():
        if name not in data and getattr(kind, method, None) is not None:
            part = _data_of(_call(getattr(value, method)))
            if part is not None:
                data[name] = part
    if kind.__name__ == "Figure" and kind.__module__ == "matplotlib.figure" and "image/png" not in data:
        data["image/png"] = _call(_png_of, value)
    return data


def _data_of(result):
    """Returns the data of a method's result, which may be a pair of data and metadata."""
    return result[0] if isinstance(result, tuple) and len(result) == 2 else result


def _call(method, *args, **options):
    try:
        return method(*args, **options)
    except NotImplementedError:
        return None
    except Exception as error:
        sys.stderr.write(_errors.describe(error)["traceback"])
        return None


def _png_of(figure):
    data = io.BytesIO()
    figure.canvas.print_figure(data, format="png", bbox_inches="tight")
    return data.getvalue()


def show_figures(*_args, **_options):
    """Shows the open figures of matplotlib, and closes them."""
    from matplotlib._pylab_helpers import Gcf

    managers = Gcf.get_all_fig_managers()
    try:
        for manager in managers:
            display(manager.canvas.figure)
    finally:
        if managers:
            sys.modules["matplotlib.pyplot"].close("all")


def end_block():
    """Shows the figures that a block left open, unless it chose another backend."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None and BACKEND in pyplot.rcParams._get("backend"):
        show_figures()


class DisplayObject:
    """Data that shows itself in one form."""

    mime = None

    def __init__(self, data=None, url=None, filename=None, metadata=None):
        if url is not None and filename is None and data is None:
            raise ValueError("a sandbox has no network: pass data or a filename instead of a url")
        if isinstance(data, (str, os.PathLike)) and filename is None and self._is_file(data):
            data, filename = None, data
        if filename is not None and data is None:
            with open(filename, "rb") as file:
                data = self._decode(file.read())
        self.data, self.filename, self.url, self.metadata = data, filename, url, metadata or {}

    def __repr__(self):
        return f"<IPython.core.display.{type(self).__name__} object>"

    def _is_file(self, data):
        return isinstance(data, os.PathLike)

    def _decode(self, contents):
        return contents.decode()

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self.mime: self.data}


class HTML(DisplayObject):
    mime = "text/html"


class Markdown(DisplayObject):
    mime = "text/markdown"


class Latex(DisplayObject):
    mime = "text/latex"


class Math(Latex):
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self.mime: f"$\\displaystyle {self.data.strip('$')}$"}


class SVG(DisplayObject):
    mime = "image/svg+xml"


class Javascript(DisplayObject):
    mime = "application/javascript"


class Pretty(DisplayObject):
    mime = "text/plain"


class JSON(DisplayObject):
    mime = "application/json"

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self.mime: json.loads(self.data) if isinstance(self.data, (str, bytes)) else self.data}


class Image(DisplayObject):
    """An image from bytes, or from a file."""

    def __init__(self, data=None, url=None, filename=None, format=None, embed=None, width=None, height=None, **_options):
        super().__init__(data, url, filename)
        self.format, self.width, self.height = format, width, height
        named = {"jpg": "image/jpeg", "svg": "image/svg+xml"}.get(format, f"image/{format}") if format else None
        self.mime = named or next((kind for start, kind in IMAGE_TYPES.items() if self.data[:4].startswith(start)), None)
        if self.mime is None:
            raise ValueError("Cannot find out the format of an image: pass format='png' or another")

    def _is_file(self, data):
        return True

    def _decode(self, contents):
        return contents


NAMES = {
    **{name: globals()[name] for name in ("display", "clear_output", "update_display", "DisplayHandle", "DisplayObject")},
    **{kind.__name__: kind for kind in (HTML, Markdown, Latex, Math, SVG, Javascript, Pretty, JSON, Image)},
}
for _kind in NAMES.values():
    _kind.__module__ = "IPython.display"


def _fill_ipython(module):
    module.__path__ = []
    module.__version__, module.version_info = "9.0.0", (9, 0, 0, "")
    module.get_ipython = lambda: None
    module.display = display


def _fill_display(module):
    vars(module).update(NAMES)


def _fill_backend(module):
    from matplotlib.backend_bases import FigureManagerBase
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    module.FigureCanvas, module.FigureManager, module.show = FigureCanvasAgg, FigureManagerBase, show_figures


MODULES = {
    "IPython": _fill_ipython,
    "IPython.display": _fill_display,
    "IPython.core": _fill_ipython,
    "IPython.core.display": _fill_display,
    "IPython.core.display_functions": _fill_display,
    BACKEND: _fill_backend,
}


class _Finder:
    """Finds the modules above where the profile has no package of the name."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in MODULES:
            return None
        return importlib.machinery.ModuleSpec(name, _Finder, is_package=name in ("IPython", "IPython.core"))

    @staticmethod
    def create_module(spec):
        return types.ModuleType(spec.name)

    @staticmethod
    def exec_module(module):
        MODULES[module.__name__](module)


def begin_block():
    """Makes `display` known without an import, as in a notebook."""
    builtins.display = display


def begin_script():
    """Hides what `python` does not have."""
    for name in ("display", "get_ipython"):
        vars(builtins).pop(name, None)


sys.meta_path.append(_Finder)
os.environ["MPLBACKEND"] = f"module://{BACKEND}"
