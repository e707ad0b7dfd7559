"""Walks syntax trees of tests, which may have long lists of numbers, without visiting each of these."""

import ast
from collections import deque

_SKIPPED = (ast.Constant, ast.expr_context)


def children(node):
    """Returns the nodes directly inside a node, but constants and contexts."""
    found = []
    for name in node._fields:
        value = getattr(node, name, None)
        if type(value) is list:
            found.extend([item for item in value if isinstance(item, ast.AST) and not isinstance(item, _SKIPPED)])
        elif isinstance(value, ast.AST) and not isinstance(value, _SKIPPED):
            found.append(value)
    return found


def walk(node):
    """Yields a node and all nodes inside, but constants and contexts, level by level."""
    waiting = deque([node])
    while waiting:
        node = waiting.popleft()
        yield node
        waiting.extend(children(node))
