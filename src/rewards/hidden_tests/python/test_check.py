"""Refuses tests that require something that cannot be judged, before any program runs."""

import ast
import importlib.util

from paddock_syntax import walk

CANDIDATE_MODULES = {"solution", "candidate", "main"}
"""Modules from which tests may import names of the candidate."""

_SOURCE_READERS = {"getsource", "getsourcelines", "getsourcefile", "getfile", "signature", "getfullargspec"}


_FILES = {"open", "tempfile", "shutil", "os.chdir", "os.listdir", "os.remove", "os.path.exists", "os.path.isfile"}
_FILE_METHODS = {"write_text", "read_text", "write_bytes", "read_bytes"}


class InvalidTestError(Exception):
    """A test requires something that cannot be judged."""


def check(place, tree, names):
    """Raises an InvalidTestError that names the line. `names` are those that the tests take from the candidate."""
    functions = {node.name for node in walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    for node in walk(tree):
        reason = _reason(node, names, functions)
        if reason is not None:
            raise InvalidTestError(f"line {node.lineno} of {place}: {reason}")
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and _required(node):
            raise InvalidTestError(f"line {node.lineno} of {place}: test functions must have no parameters")


def _reason(node, names, functions):
    if isinstance(node, ast.Import):
        return next((_missing(alias.name) for alias in node.names if _missing(alias.name)), None)
    if isinstance(node, ast.ImportFrom) and node.module not in CANDIDATE_MODULES:
        return _missing(node.module or "")
    if isinstance(node, ast.ClassDef) and any(_name(base) in names for base in node.bases):
        return "a class of the tests cannot be derived from a class of the candidate"
    if isinstance(node, ast.Assign) and any(_dotted(target).startswith("builtins.") for target in node.targets):
        return "built-in functions of the candidate cannot be replaced"
    if isinstance(node, ast.Attribute) and _dotted(node) == "os.environ":
        return "tests and candidate have no environment in common"
    return _call_reason(node, names, functions) if isinstance(node, ast.Call) else None


def _call_reason(node, names, functions):
    called = _dotted(node.func)
    last = called.rpartition(".")[2]
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    if called in ("patch", "mock.patch", "unittest.mock.patch"):
        target = values[0].value if values and isinstance(values[0], ast.Constant) else ""
        if target not in ("sys.stdin", "sys.stdout", "sys.stderr"):
            return f"{target!r} of the candidate cannot be replaced"
    if last == "object" and called.startswith(("patch.", "mock.patch.", "unittest.mock.patch.")):
        return "attributes of the candidate cannot be replaced by a mock"
    if called in _FILES or called.partition(".")[0] in _FILES or last in _FILE_METHODS:
        return "tests and candidate have no files in common"
    if called.startswith("inspect.") and last in _SOURCE_READERS:
        return "tests cannot inspect the candidate's source"
    is_of_candidate = called.partition(".")[0] in names
    if is_of_candidate and any(_is_function(value, functions) for value in values):
        return "a function of the tests cannot be passed to the candidate"
    return None


def _is_function(value, functions):
    return isinstance(value, ast.Lambda) or (isinstance(value, ast.Name) and value.id in functions)


def _required(node):
    return len(node.args.args) + len(node.args.kwonlyargs) > len(node.args.defaults)


def _missing(module):
    root = module.partition(".")[0]
    try:
        is_found = root in CANDIDATE_MODULES or importlib.util.find_spec(root) is not None
    except (ImportError, ValueError):
        is_found = False
    return None if is_found else f"there is no module {root!r}"


def _name(node):
    return node.id if isinstance(node, ast.Name) else ""


def _dotted(node):
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return _name(node)


def without_runner(tree):
    """Returns the tests without `unittest.main()` and without imports from the candidate."""
    tree.body = [node for node in tree.body if not _is_runner(node)]
    return tree


def _is_runner(node):
    if isinstance(node, ast.ImportFrom) and node.module in CANDIDATE_MODULES:
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _dotted(node.value.func) == "unittest.main"
