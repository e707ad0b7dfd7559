"""Built-in fixtures of pytest that most tests use."""

import contextlib
import importlib
import io
import logging
import os
import pathlib
import sys
import tempfile


@fixture
def tmp_path():
    return pathlib.Path(tempfile.mkdtemp())


@fixture(scope="session")
def tmp_path_factory():
    factory = type("TempPathFactory", (), {})()
    factory.mktemp = lambda name, numbered=True: pathlib.Path(tempfile.mkdtemp(prefix=name))
    factory.getbasetemp = lambda: pathlib.Path(tempfile.gettempdir())
    return factory


class Capture:
    """`capsys` and `capfd`: captures output until it is read."""

    def __init__(self):
        self.kept = sys.stdout, sys.stderr
        self.begin()

    def begin(self):
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()

    def readouterr(self):
        out, err = sys.stdout.getvalue(), sys.stderr.getvalue()
        self.begin()
        return CaptureResult((out, err))

    @contextlib.contextmanager
    def disabled(self):
        captured = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = self.kept
        yield
        sys.stdout, sys.stderr = captured


class CaptureResult(tuple):
    out = property(lambda self: self[0])
    err = property(lambda self: self[1])


def capture():
    captured = Capture()
    yield captured
    sys.stdout, sys.stderr = captured.kept


MISSING = object()


class MonkeyPatch:
    """`monkeypatch`: changes attributes, items, the environment and the directory, and undoes all changes."""

    def __init__(self):
        self._undo = []

    @classmethod
    @contextlib.contextmanager
    def context(cls):
        patch = cls()
        try:
            yield patch
        finally:
            patch.undo()

    def setattr(self, target, name, value=MISSING, raising=True):
        if value is MISSING:
            path, value = target, name
            target, name = self._found(path)
        old = vars(target).get(name, MISSING) if isinstance(target, type) else getattr(target, name, MISSING)
        if raising and old is MISSING and not hasattr(target, name):
            raise AttributeError(f"{target!r} has no attribute {name!r}")
        self._undo.append(lambda: delattr(target, name) if old is MISSING else setattr(target, name, old))
        setattr(target, name, value)

    def delattr(self, target, name=MISSING, raising=True):
        if name is MISSING:
            target, name = self._found(target)
        if raising or hasattr(target, name):
            old = getattr(target, name)
            self._undo.append(lambda: setattr(target, name, old))
            delattr(target, name)

    def setitem(self, items, name, value):
        self._remember(items, name)
        items[name] = value

    def delitem(self, items, name, raising=True):
        if raising or name in items:
            self._remember(items, name)
            del items[name]

    def setenv(self, name, value, prepend=None):
        old = os.environ.get(name)
        self.setitem(os.environ, name, f"{value}{prepend}{old}" if prepend and old else str(value))

    def delenv(self, name, raising=True):
        self.delitem(os.environ, name, raising)

    def chdir(self, path):
        old = os.getcwd()
        self._undo.append(lambda: os.chdir(old))
        os.chdir(path)

    def syspath_prepend(self, path):
        old = list(sys.path)
        self._undo.append(lambda: sys.path.__setitem__(slice(None), old))
        sys.path.insert(0, str(path))

    def undo(self):
        while self._undo:
            self._undo.pop()()

    def _remember(self, items, name):
        old = items.get(name, MISSING) if hasattr(items, "get") else items[name]
        self._undo.append(lambda: items.pop(name, None) if old is MISSING else items.__setitem__(name, old))

    @staticmethod
    def _found(path):
        place, _, name = path.rpartition(".")
        target = importlib.import_module(place.split(".")[0])
        for step in place.split(".")[1:]:
            target = getattr(target, step, None) or importlib.import_module(f"{target.__name__}.{step}")
        return target, name


@fixture
def monkeypatch():
    with MonkeyPatch.context() as patch:
        yield patch


class LogCapture(logging.Handler):
    """`caplog`: captures log records."""

    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        self.records.append(record)

    messages = property(lambda self: [record.getMessage() for record in self.records])
    record_tuples = property(lambda self: [(each.name, each.levelno, each.getMessage()) for each in self.records])

    @property
    def text(self):
        words = logging.Formatter("%(levelname)-8s %(name)s:%(filename)s:%(lineno)d %(message)s")
        return "".join(f"{words.format(record)}\n" for record in self.records)

    def clear(self):
        self.records.clear()

    def set_level(self, level, logger=None):
        logging.getLogger(logger).setLevel(level)

    @contextlib.contextmanager
    def at_level(self, level, logger=None):
        target = logging.getLogger(logger)
        old = target.level
        target.setLevel(level)
        yield
        target.setLevel(old)


@fixture
def caplog():
    handler, root = LogCapture(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    yield handler
    root.removeHandler(handler)
    root.setLevel(level)


CAPTURES = [Fixture(capture, name="capsys"), Fixture(capture, name="capfd")]
BUILT_IN = [tmp_path, tmp_path_factory, monkeypatch, caplog, *CAPTURES]
