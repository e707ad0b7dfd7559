"""Writes values as IPython shows them: what is wider than a line is broken at the commas of the outermost brackets."""

import collections
import contextlib
import inspect
import os
import re
import types

WIDTH = 79
MAX_ITEMS = 1000
"""Longer sequences end with `...`."""

RE_FLAGS = "IGNORECASE LOCALE MULTILINE DOTALL UNICODE VERBOSE DEBUG".split()
PLAIN_MODULES = (None, "builtins")


def pretty(value):
    """Returns the text of a value."""
    if type(value) in (int, float, bool, str):
        return repr(value)
    printer = Printer()
    printer.pretty(value)
    return printer.end()


class _Group:
    """Text that is on one line, or broken at all of its breaks. The outermost group is broken first."""

    __slots__ = ("depth", "waiting", "is_broken")

    def __init__(self, depth):
        self.depth = depth
        self.waiting = 0
        self.is_broken = False


class _Break:
    """A place where a line may end. `text` is there if it does not."""

    __slots__ = ("text", "indentation", "group")

    def __init__(self, text, indentation, group):
        self.text, self.indentation, self.group = text, indentation, group


class Printer:
    """Lays out text. Methods `_repr_pretty_(printer, cycle)` of objects call the methods without an underscore."""

    def __init__(self):
        self.max_width, self.max_seq_length, self.verbose = WIDTH, MAX_ITEMS, False
        self.indentation = 0
        self._lines, self._column = [], 0
        self._pending, self._pending_width = collections.deque(), 0
        self._groups = [_Group(0)]
        self._levels = [[self._groups[0]]]
        self._open = []

    def end(self):
        """Returns the text."""
        self.flush()
        return "".join(self._lines)

    def text(self, text):
        """Adds text that is not broken."""
        if not self._pending:
            self._lines.append(text)
            self._column += len(text)
        else:
            self._pending.append(text)
            self._pending_width += len(text)
            self._fit()

    def breakable(self, sep=" "):
        """Adds a place where the line may end."""
        group = self._groups[-1]
        if group.is_broken:
            self.flush()
            self._end_line(self.indentation)
        else:
            self._pending.append(_Break(sep, self.indentation, group))
            self._pending_width += len(sep)
            group.waiting += 1
            self._fit()

    def break_(self):
        """Ends the line."""
        if group := self._next_group():
            self._break(group)
        self.flush()
        self._end_line(self.indentation)

    @contextlib.contextmanager
    def group(self, indent=0, open="", close=""):
        self.begin_group(indent, open)
        try:
            yield
        finally:
            self.end_group(indent, close)

    @contextlib.contextmanager
    def indent(self, indent):
        self.indentation += indent
        try:
            yield
        finally:
            self.indentation -= indent

    def begin_group(self, indent=0, open=""):
        if open:
            self.text(open)
        group = _Group(self._groups[-1].depth + 1)
        self._groups.append(group)
        while len(self._levels) <= group.depth:
            self._levels.append([])
        self._levels[group.depth].append(group)
        self.indentation += indent

    def end_group(self, dedent=0, close=""):
        self.indentation -= dedent
        group = self._groups.pop()
        if not group.waiting:
            self._forget(group)
        if close:
            self.text(close)

    def flush(self):
        """Writes what is pending on the current line."""
        while self._pending:
            self._write(self._pending.popleft())
        self._pending_width = 0

    def pretty(self, value):
        """Adds the text of a value."""
        cycle = id(value) in self._open
        self._open.append(id(value))
        self.begin_group()
        try:
            _writer_of(value)(value, self, cycle)
        finally:
            self.end_group()
            self._open.pop()

    def _enumerate(self, items):
        for index, item in enumerate(items):
            if index >= self.max_seq_length:
                self.text(",")
                self.breakable()
                self.text("...")
                return
            yield index, item

    def _fit(self):
        while self._column + self._pending_width > self.max_width and (group := self._next_group()):
            self._break(group)

    def _next_group(self):
        """
        Returns the outermost group with a pending break, the last of those of a level. Groups further out are broken at
        the breaks that follow. As in IPython, the level loses the group at the mirrored position.
        """
        for level in self._levels:
            for index, group in enumerate(reversed(level)):
                if group.waiting:
                    del level[index]
                    group.is_broken = True
                    return group
            for group in level:
                group.is_broken = True
            level.clear()
        return None

    def _break(self, group):
        """Writes what is pending up to the last break of a group, and the text behind it."""
        while group.waiting or (self._pending and type(self._pending[0]) is str):
            part = self._pending.popleft()
            self._pending_width -= len(part if type(part) is str else part.text)
            self._write(part)

    def _write(self, part):
        if type(part) is str:
            self._lines.append(part)
            self._column += len(part)
            return
        group = part.group
        group.waiting -= 1
        if group.is_broken:
            self._end_line(part.indentation)
            return
        if not group.waiting:
            self._forget(group)
        self._lines.append(part.text)
        self._column += len(part.text)

    def _end_line(self, indentation):
        self._lines.append("\n" + " " * indentation)
        self._column = indentation

    def _forget(self, group):
        level = self._levels[group.depth]
        if group in level:
            level.remove(group)


def _writer_of(value):
    """Returns the function that writes a value: that of the first of its classes that has one."""
    if value is None or value is True or value is False or value is ... or value is NotImplemented:
        return _write_repr
    for kind in type(value).__mro__:
        writer = WRITERS.get(kind) or NAMED_WRITERS.get((kind.__module__, kind.__name__))
        if writer is not None:
            return writer
        own = vars(kind).get("_repr_pretty_")
        if own is not None and callable(getattr(kind, "_repr_pretty_")):
            return kind._repr_pretty_
        if kind is not object and callable(vars(kind).get("__repr__")):
            return _write_repr
    return _write_object


def _write_repr(value, printer, cycle):
    with printer.group():
        for index, line in enumerate(repr(value).splitlines()):
            if index:
                printer.break_()
            printer.text(line)


def _write_object(value, printer, cycle):
    printer.begin_group(1, "<")
    printer.pretty(type(value))
    printer.text(f" at 0x{id(value):x}{' ...' if cycle else ''}")
    printer.end_group(1, ">")


def _write_items(printer, items, start, end, write):
    """Writes items between brackets, each by a function."""
    printer.begin_group(len(start), start)
    for index, item in printer._enumerate(items):
        if index:
            printer.text(",")
            printer.breakable()
        write(item)
    printer.end_group(len(start), end)


def _sequence_writer(start, end):
    def write(value, printer, cycle):
        if cycle:
            return printer.text(f"{start}...{end}")
        last = "," + end if len(value) == 1 and isinstance(value, tuple) else end
        _write_items(printer, value, start, last, printer.pretty)

    return write


def _set_writer(start, end):
    def write(value, printer, cycle):
        if cycle:
            return printer.text(f"{start}...{end}")
        if not value:
            return printer.text(f"{type(value).__name__}()")
        items = value if len(value) >= printer.max_seq_length else _sorted(value)
        _write_items(printer, items, start, end, printer.pretty)

    return write


def _sorted(items):
    items = list(items)
    for key in (None, str):
        try:
            return sorted(items, key=key)
        except Exception:
            pass  # they have no order
    return items


def _mapping_writer(start, end):
    def write(value, printer, cycle):
        if cycle:
            return printer.text("{...}")

        def write_item(key):
            printer.pretty(key)
            printer.text(": ")
            printer.pretty(value[key])

        _write_items(printer, value.keys(), start, end, write_item)

    return write


class _Raw:
    """Text in the place of a value."""

    def __init__(self, text):
        self._text = text

    def _repr_pretty_(self, printer, cycle):
        printer.text(self._text)


def _write_call(printer, name, args=(), named={}):
    """Writes the call of a constructor."""

    def write(item):
        name, value = item
        if name is None:
            return printer.pretty(value)
        with printer.group(len(name) + 1, name + "="):
            printer.pretty(value)

    with printer.group():
        _write_items(printer, [*((None, value) for value in args), *named.items()], name + "(", ")", write)


def _call_writer(args_of):
    """Returns the writer of a class whose objects are shown as calls of its name."""

    def write(value, printer, cycle):
        args = ((_Raw("..."),), {}) if cycle else args_of(value)
        _write_call(printer, type(value).__name__, *args)

    return write


def _write_namespace(value, printer, cycle):
    _write_call(printer, "namespace", *(((_Raw("..."),), {}) if cycle else ((), vars(value))))


def _write_pattern(value, printer, cycle):
    text = "r" + repr(value.pattern).replace("\\\\", "\\")
    flags = "|".join(f"re.{name}" for name in RE_FLAGS if value.flags & getattr(re, name))
    _write_call(printer, "re.compile", [_Raw(text), *([_Raw(flags)] if value.flags else [])])


def _write_super(value, printer, cycle):
    parts = value.__thisclass__, value.__self__
    _write_items(printer, parts, "<super: ", ">", printer.pretty)


def _write_type(value, printer, cycle):
    if next((kind for kind in type(value).__mro__ if "__repr__" in vars(kind)), type) is not type:
        return _write_repr(value, printer, cycle)
    printer.text(_full_name(value.__module__, value.__qualname__))


def _write_function(value, printer, cycle):
    name = _full_name(value.__module__, value.__qualname__)
    try:
        name += str(inspect.signature(value))
    except ValueError:
        pass  # a function in C without one
    printer.text(f"<function {name}>")


def _write_exception(value, printer, cycle):
    kind = type(value)
    _write_call(printer, _full_name(kind.__module__, kind.__qualname__), value.args)


def _full_name(module, name):
    return name if module in PLAIN_MODULES else f"{module}.{name}"


def _deque_args(value):
    return (list(value),), {} if value.maxlen is None else {"maxlen": value.maxlen}


WRITERS = {
    **dict.fromkeys((int, float, str, bytes, range, slice, types.MethodType), _write_repr),
    tuple: _sequence_writer("(", ")"),
    list: _sequence_writer("[", "]"),
    set: _set_writer("{", "}"),
    frozenset: _set_writer("frozenset({", "})"),
    dict: _mapping_writer("{", "}"),
    type(os.environ): _mapping_writer("environ{", "}"),
    types.MappingProxyType: _mapping_writer("mappingproxy({", "})"),
    types.SimpleNamespace: _write_namespace,
    types.FunctionType: _write_function,
    types.BuiltinFunctionType: _write_function,
    super: _write_super,
    re.Pattern: _write_pattern,
    type: _write_type,
    BaseException: _write_exception,
}
NAMED_WRITERS = {
    ("collections", "defaultdict"): _call_writer(lambda value: ((value.default_factory, dict(value)), {})),
    ("collections", "OrderedDict"): _call_writer(lambda value: (([list(value.items())] if value else []), {})),
    ("collections", "Counter"): _call_writer(lambda value: (([dict(value.most_common())] if value else []), {})),
    ("collections", "deque"): _call_writer(_deque_args),
    ("collections", "UserList"): _call_writer(lambda value: ((value.data,), {})),
    ("datetime", "datetime"): _write_repr,
    ("datetime", "timedelta"): _write_repr,
}
