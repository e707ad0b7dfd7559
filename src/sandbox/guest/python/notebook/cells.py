"""Runs cells of notebooks by IPython's rules: magics, commands of the shell, questions, and the history of values."""

import asyncio
import builtins
import io
import re
import sys
import tokenize

CO_COROUTINE = 0x80
MAX_STEPS = 100
"""So often the tasks of earlier cells may run before and after a cell, while they have something to do."""
KEPT_VALUES = 1000
HISTORY = ("_", "__", "___")
HIDDEN = ("In", "Out")

AWAITED = ("time", "capture")
"""Cell magics whose body may use `await`."""

CELL_MAGIC = re.compile(r"%%(\w+)[ \t]*([^\n]*)\n?(.*)", re.DOTALL).match
LINE_MAGIC = re.compile(r"%{1,2}[ \t]*([A-Za-z_]\w*)[ \t]*(.*)", re.DOTALL).fullmatch
ASSIGNMENT = re.compile(r"(\s*(?:[\w.,* \t]|\[[^\]]*\]|\([^)]*\))+=[ \t]*)(?:%(?=[A-Za-z_])|!(?!=))(.*)", re.DOTALL).fullmatch
QUESTION = re.compile(r"(?:.*[\s;])?(%{0,2}(?!\d)[\w*]+(?:\.(?!\d)[\w*]+|\[-?\d+\])*)[ \t]*(\?\??)\s*(?:#.*)?").fullmatch
PROMPT = re.compile(r"(?:>>> ?|\.\.\. ?|In \[\d+\]: ?| *\.\.\.+: ?)")
IN_PROMPT = re.compile(r"\s*In \[\d+\]: ").match
"""Matches a prompt that Python takes for an annotation."""
AUTOMAGIC = re.compile(r"([A-Za-z_]\w*)(?:[ \t]+([^=,\s].*))?").fullmatch
PIECE = re.compile(
    r"#[^\n]*|[rRbBuUfFtT]{0,2}(?P<long>'''|\"\"\")|[rRbBuUfFtT]{0,2}(?:'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\")"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|\\\n|\w+|\s|.",
    re.DOTALL,
).match

_namespace = sys.modules["__main__"].__dict__
_kept = {}
"""What the last cell's names `_`, `__` and `___` were, so that a program's own `_` stays."""


def evaluate(code, name):
    """Runs a cell and returns the value to show, None if there is none."""
    if not code or code.isspace():
        return None
    builtins.get_ipython = _magics.get_ipython
    _begin(code)
    source, parts = _compile(code, name)
    value, error = _runner._run_in_loop(_evaluate(parts))
    if error is not None:
        raise error
    if value is None or (";" in source and _ends_with_semicolon(source)):
        return None
    _keep(value)
    return value


def transform(code):
    """Returns the Python of a cell. Lines of Python stay as they are."""
    code = _without_prompts(_dedent(code.replace("\r\n", "\n")))
    if found := CELL_MAGIC(code):
        name, line, body = found.groups()
        if name[0] != "%" and not (body == "" and line.endswith("?")):
            call = "await get_ipython().run_cell_magic_async" if name in AWAITED else "get_ipython().run_cell_magic"
            return f"{call}({name!r}, {line!r}, {body!r})\n"
    parts, at = [], 0
    while at < len(code):
        end = _end_of_line(code, at)
        replaced = _transform_line(code[at:end])
        if replaced is None:
            end = _end_of_statement(code, at)
            replaced = code[at:end]
        parts.append(replaced)
        at = end
    return "".join(parts)


def count():
    """Returns the number of the running cell."""
    return len(_namespace["In"]) - 1


def _begin(code):
    """Numbers the cell, and sets what it may read of earlier ones."""
    names = _namespace
    if type(names.get("In")) is not list:
        names["In"] = [""]
    if type(names.get("Out")) is not dict:
        names["Out"] = {}
    history = names["_ih"] = names["In"]
    names["_oh"] = names["Out"]
    history.append(code)
    names["_i"], names["_ii"], names["_iii"] = [*reversed(history[-4:-1]), "", "", ""][:3]
    names[f"_i{len(history) - 1}"] = code
    for name in HISTORY:
        if name not in names and name not in _kept:
            names[name] = _kept[name] = ""


def _keep(value):
    """Makes a value known as `_`, `Out[n]` and `_n`."""
    names = _namespace
    if value is names["Out"]:
        return
    values = [value, *(_kept[name] for name in HISTORY[:2])]
    is_own = all(name not in names or names[name] is _kept[name] for name in HISTORY)
    _kept.update(zip(HISTORY, values))
    if is_own and "_" not in vars(builtins):
        names.update(_kept)
    outputs = names["Out"]
    if len(outputs) >= KEPT_VALUES:
        for number in [*outputs][: KEPT_VALUES // 5]:
            del outputs[number]
            names.pop(f"_{number}", None)
    outputs[count()] = names[f"_{count()}"] = value


def _compile(code, name):
    """Returns the Python of a cell, and its compiled parts."""
    source = _automagic(code) or (transform(code) if IN_PROMPT(code) else code)
    if source is not code:
        code = source
        _errors.remember_source(code, name)
    try:
        return code, _runner._compile(code, name)
    except SyntaxError as caught:
        error = caught
    source = transform(code)
    if source == code:
        raise error
    error = None
    _errors.remember_source(source, name)
    return source, _runner._compile(source, name)


def _automagic(code):
    """Returns the call of a magic that stands alone in a cell, without `%`."""
    found = AUTOMAGIC(code.strip())
    if found is None or found[1] not in _magics.LINES or found[1] in _namespace or found[1] in vars(builtins):
        return None
    return _magic_call(found[1], found[2] or "")


async def _evaluate(parts):
    """Runs the parts of a cell. Returns its value and its exception: a task cannot raise all of them."""
    await let_tasks_run()
    try:
        for part in parts:
            value = eval(part, _namespace)
            if part.co_flags & CO_COROUTINE:
                value = await value
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return None, error
    await let_tasks_run()
    return value, None


async def evaluate_body(source):
    """Runs the body of a cell magic and returns its value."""
    source, parts = _compile(source, _runner._state.name)
    value = await _runner._evaluate_async(parts)
    return None if ";" in source and _ends_with_semicolon(source) else value


async def let_tasks_run():
    """Lets tasks of earlier cells run, as they do in a notebook while no cell runs."""
    ready = asyncio.get_running_loop()._ready
    for _ in range(MAX_STEPS):
        if not ready:
            return
        await asyncio.sleep(0)


def _ends_with_semicolon(source):
    last = ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER):
                last = token.string
    except (tokenize.TokenError, SyntaxError):
        return False
    return last == ";"


def _dedent(code):
    """Removes empty lines at the start, and the first line's indentation from all lines that have it."""
    code = re.sub(r"\A(?:[ \t]*\n)+", "", code)
    indentation = re.match(r"[ \t]*", code)[0]
    return re.sub(f"(?m)^{indentation}", "", code) if indentation else code


def _without_prompts(code):
    """Removes the prompts of a copied session of Python or IPython."""
    if not PROMPT.match(code) or code.startswith("."):
        return code
    lines = code.splitlines(keepends=True)
    return "".join(PROMPT.sub("", line, count=1) if PROMPT.match(line) else line for line in lines)


def _end_of_line(code, at):
    """Returns the end of a line that goes on behind a backslash."""
    while True:
        end = code.find("\n", at) + 1
        if end == 0:
            return len(code)
        if code[end - 2 : end - 1] != "\\":
            return end
        at = end


def _end_of_statement(code, at):
    """Returns the end of the line in which a statement's brackets and texts end."""
    depth = 0
    while at < len(code):
        found = PIECE(code, at)
        at = found.end()
        if found["long"]:
            end = _end_of_long(code, at, found["long"])
            at = len(code) if end < 0 else end
        elif found["open"]:
            depth += 1
        elif found["close"]:
            depth -= 1
        elif found[0] == "\n" and depth <= 0:
            break
    return at


def _end_of_long(code, at, quotes):
    while (end := code.find(quotes, at)) >= 0:
        before = code[at:end]
        if (len(before) - len(before.rstrip("\\"))) % 2 == 0:
            return end + 3
        at = end + 1
    return -1


def _transform_line(line):
    """Returns the Python of a line that starts a statement. None if the line is Python."""
    ending = "\n" if line.endswith("\n") else ""
    text = line.rstrip("\n")
    body = text.lstrip(" \t")
    indentation = text[: len(text) - len(body)]
    body = re.sub(r"\\\n\s*", "", body)
    call = _escaped_call(body)
    if call is None and (found := ASSIGNMENT(body)):
        target, rest = found.groups()
        call = target + (_magic_call_of("%" + rest) if body[len(target)] == "%" else f"get_ipython().getoutput({rest!r})")
    if call is None and "?" in body and (found := QUESTION(body)):
        call = _question_call(found[1], found[2])
    return None if call is None else indentation + call + ending


def _escaped_call(body):
    start, rest = body[:1], body[1:]
    if start == "!":
        if rest.startswith("!"):
            return f"get_ipython().getoutput({rest[1:]!r})"
        return f"get_ipython().system({rest!r})"
    if start == "%" and not body.endswith("?"):
        return _magic_call_of(body)
    if start == "?":
        target = rest.lstrip("?").strip()
        return _question_call(target, body[: len(body) - len(rest.lstrip("?"))])
    if start in ("/", ",", ";") and rest[:1].isalpha():
        name, _, words = rest.partition(" ")
        args = {"/": ", ".join(words.split()), ",": ", ".join(map(_quote, words.split())), ";": _quote(words)}[start]
        return f"{name}({args})"
    return None


def _quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _magic_call_of(body):
    found = LINE_MAGIC(body)
    return None if found is None else _magic_call(found[1], found[2])


def _magic_call(name, line):
    return f"get_ipython().run_line_magic({name!r}, {line!r})"


def _question_call(target, marks):
    name = "psearch" if "*" in target else "pinfo2" if marks == "??" else "pinfo"
    return _magic_call(name, target)
