"""
Decides from where the tests get the names that they do not define: from the library, or from the candidate. A program
must not replace what the tests compare with, so that only the tests and the prompt decide, before the program runs.
"""

import ast
import builtins
import importlib
import re

from paddock_scopes import global_names
from paddock_syntax import walk
from paddock_test_check import CANDIDATE_MODULES

ALIASES = {"np": "numpy", "pd": "pandas", "sp": "scipy", "plt": "matplotlib.pyplot", "nx": "networkx", "tf": "tensorflow"}
"""Names under which modules are usually imported."""

OUTSIDE = {*ALIASES, *ALIASES.values(), "pytest", "torch", "sympy", "hypothesis", "sklearn", "requests", "mock"}
"""Modules that are no part of the standard library."""

LIBRARY = {
    "collections": "ChainMap Counter OrderedDict UserDict defaultdict deque namedtuple",
    "copy": "deepcopy",
    "datetime": "date datetime timedelta timezone",
    "decimal": "Decimal getcontext",
    "fractions": "Fraction",
    "functools": "cmp_to_key lru_cache partial reduce",
    "itertools": "accumulate chain combinations count cycle groupby islice permutations product zip_longest",
    "math": "ceil comb cos exp factorial floor fsum gcd inf isclose isinf isnan lcm log log2 nan pi prod sin sqrt tan",
    "statistics": "mean median stdev",
    "typing": "Any Dict Iterable Iterator List Optional Set Tuple Union",
}
"""Names of the library that tests use without an import."""

_HOMES = {name: module for module, names in LIBRARY.items() for name in names.split()}


class Names:
    """
    The names that tests use and do not define.

    - `candidate`: names of the candidate. The first is the entry point, if there is one.
    - `library`: where names of the library come from: a module, and a name in it, which is empty for the module itself.
    - `foreign`: names that tests must define themselves, and do not: modules that are not installed, and what judges
      the candidate's results.
    """

    def __init__(self, trees, prompt, entry_points, known, classes):
        nodes = [node for tree in trees for node in walk(tree)]
        scopes = [global_names(tree) for tree in trees]
        defined = {name for bound, _ in scopes for name in bound}
        used = {name for _, names in scopes for name in names}
        loaded = dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name) and node.id in used)
        imported = [alias.name for node in nodes if is_of_candidate(node) for alias in node.names]
        own = [name for name in loaded if name not in {*known, *defined} or name in classes]
        self.library, self.foreign = {}, set()
        unknown = [name for name in own if not hasattr(builtins, name) and name != "candidate"]
        found = entry_points or _entry_points(trees, unknown, own)
        of_program = {*imported, *classes, *(root for entry in found for root in re.findall(r"^\w+", entry))}
        for name in unknown:
            if name not in of_program and not _is_in(prompt, rf"\b(?:class|def)\s+{name}\b"):
                self._place(name, nodes)
        of_candidate = {*unknown} - {*self.library, *self.foreign}
        unasked = {name for name in of_candidate - of_program if not _is_in(prompt, rf"\b{name}\b")}
        self.foreign |= _judging(nodes, unasked, of_candidate)
        rest = [name for name in unknown if name not in self.library and name not in self.foreign]
        self.candidate = list(dict.fromkeys([*found, *imported, *rest]))

    def _place(self, name, nodes):
        """Takes a name from the library, if the tests use it as a module or class of the library is used."""
        attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute) and _is_name(node.value, name)}
        uses = sum(_is_name(node, name) for node in nodes)
        bases = sum(isinstance(node, ast.Attribute) and _is_name(node.value, name) for node in nodes)
        if uses == bases:
            module = _imported(ALIASES.get(name, name))
            if module is not None and all(hasattr(module, attribute) for attribute in attributes):
                self.library[name] = ALIASES.get(name, name), ""
            elif module is None and name in OUTSIDE:
                self.foreign.add(name)
        elif name in _HOMES:
            self.library[name] = _HOMES[name], name


def library_objects(library):
    """Returns the objects of the library that tests use, by the names of `Names.library`."""
    modules = {name: importlib.import_module(module) for name, (module, _) in library.items()}
    return {name: getattr(modules[name], inner) if inner else modules[name] for name, (_, inner) in library.items()}


def _is_in(text, pattern):
    """Returns whether a prompt names something, so that the program has to define it."""
    return re.search(pattern, text) is not None


def is_of_candidate(node):
    """Returns whether a statement imports names of the candidate."""
    return isinstance(node, ast.ImportFrom) and node.module in CANDIDATE_MODULES


def _entry_points(trees, unknown, own):
    """
    Finds the entry point of tests without one: of the names that the tests call and neither they nor the library define,
    that which most tests call; of several, that which is called for the arguments of another. If there is none, the only
    built-in function that they call.
    """
    called = [{*own} & _called(tree) for tree in trees]
    candidates = [name for name in unknown if any(name in names for names in called)] or unknown
    if not candidates:
        others = {name for names in called for name in names}
        return [*others] if len(others) == 1 else []
    if len(candidates) == 1:
        return candidates
    inner = {name for tree in trees for name in _called_for_arguments(tree, {*candidates})}
    rank = {
        name: (name in _HOMES, -sum(name in names for names in called), bool(inner) and name not in inner)
        for name in candidates
    }
    return [min(candidates, key=rank.get)]


def _called(node):
    """Returns the names that are called in a tree."""
    calls = [inner.func for inner in walk(node) if isinstance(inner, ast.Call)]
    return {func.id for func in calls if isinstance(func, ast.Name)}


def _called_for_arguments(tree, candidates):
    """Returns the candidates that are called inside the arguments of a call of another candidate."""
    found = set()
    for node in walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in candidates:
            inner = {name for part in [*node.args, *node.keywords] for name in _called(part)}
            found |= inner & candidates - {node.func.id}
    return found


def _judging(nodes, names, candidates):
    """
    Returns the names, of those that nothing asks the program for, which would let the program judge itself: a function
    whose truth about another result is asserted, and a value with which a result is compared.
    """
    if not names:
        return set()
    results = {name for node in nodes if isinstance(node, ast.Assign) for name in _assigned(node, candidates)}

    def has_result(node, besides=""):
        used = any(isinstance(part, ast.Name) and part.id in results for part in walk(node))
        return used or not _called(node).isdisjoint(candidates - {besides})

    found = set()
    for node in nodes:
        calls = [call for call in _asserted(_condition(node)) if call.func.id in names]
        found |= {call.func.id for call in calls if any(has_result(part, call.func.id) for part in call.args)}
        sides = _compared(node)
        if any(map(has_result, sides)):
            found |= {side.id for side in sides if isinstance(side, ast.Name) and side.id in names}
    return found


def _assigned(node, candidates):
    """Returns the names that an assignment gives a result of the candidate."""
    is_result = not _called(node.value).isdisjoint(candidates)
    return [target.id for target in node.targets if isinstance(target, ast.Name)] if is_result else []


def _condition(node):
    """Returns the expression whose truth decides about a test."""
    if isinstance(node, (ast.Assert, ast.If)):
        return node.test
    is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return node.args[0] if is_method and node.func.attr in ("assertTrue", "assertFalse") and node.args else None


def _asserted(test):
    """Returns the calls whose truth is asserted."""
    if isinstance(test, ast.BoolOp):
        return [call for value in test.values for call in _asserted(value)]
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _asserted(test.operand)
    return [test] if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) else []


def _compared(node):
    """Returns the values that a test compares. Objects that it compares by identity, and types, are none."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        is_identity = any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops)
        return [] if is_identity or any(map(_is_type, sides)) else sides
    is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return node.args if is_method and node.func.attr.startswith(("assertEqual", "assertAlmost", "assertCount")) else []


def _is_type(node):
    is_class = isinstance(node, ast.Attribute) and node.attr == "__class__"
    return is_class or (isinstance(node, ast.Call) and _is_name(node.func, "type"))


def _is_name(node, name):
    return isinstance(node, ast.Name) and node.id == name


def _imported(name):
    try:
        return importlib.import_module(name)
    except Exception:
        return None  # there is no such module, or it does not work here
