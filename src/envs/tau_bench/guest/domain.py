"""Runs one domain of a tau-bench checkout: its tools, its tasks, and the changes of its data.

It is imported when the base image is built, with the checkout mounted. So each session starts with the data loaded,
and a rewind restores them. A request is JSON on stdin, its response JSON on stdout.
"""

import gc
import importlib
import inspect
import io
import itertools
import json
import marshal
import os
import re
import sys

CHECKOUT = "/checkout"
RESPOND = "respond"
# Number of records that are compared at once, before they are compared one by one.
CHUNK = 64


class Domain:
    def __init__(self, domain):
        package = importlib.import_module(f"tau_bench.envs.{domain}")
        base = importlib.import_module("tau_bench.envs.base")
        self.to_hashable = base.to_hashable
        make = _env_class(package, base.Env)
        envs = _envs(make, _split_names(os.path.dirname(package.__file__)))
        env = next(iter(envs.values()))
        self.tools_info, self.wiki, self.rules = env.tools_info, env.wiki, env.rules
        self.tools, self.data = env.tools_map, env.data
        self.terminate_tools = list(env.terminate_tools)
        self.tasks = {split: env.tasks for split, env in envs.items()}
        self.start = {table: dict(self._marks(table, rows)) for table, rows in self.data.items()}
        self.start_chunks = {table: _chunk_marks(rows) for table, rows in self.data.items()}

    def describe(self, _request):
        tasks = {split: [_plain_task(task) for task in tasks] for split, tasks in self.tasks.items()}
        return {
            "tools_info": self.tools_info,
            "wiki": self.wiki,
            "rules": self.rules,
            "terminate_tools": self.terminate_tools,
            "tasks": tasks,
        }

    def step(self, request):
        return {"observation": self._act(request["name"], request["kwargs"], json.loads)}

    def changes(self, _request):
        """Returns the records whose normal form differs from the start."""
        found = []
        for table in {**self.start, **self.data}:
            found += self._changes_of(table)
        return {"tables": self._tables(), "records": found}

    def everything(self, _request):
        """Returns the normal form of all data."""
        records = [
            [table, key, self._text(table, key, record)]
            for table, rows in self.data.items()
            for key, record in _records(rows)
        ]
        return {"tables": self._tables(), "records": records}

    def expected_changes(self, request):
        """Runs a task's own actions on the current data, and returns the changes."""
        for action in self._task(request).actions:
            if action.name != RESPOND and action.name not in self.terminate_tools:
                self._act(action.name, action.kwargs, dict)
        return self.changes(request)

    def outputs(self, request):
        """Returns, for each of a task's outputs, whether the agent's messages contain it."""
        messages = [text.lower().replace(",", "") for text in request["messages"]]
        outputs = self._task(request).outputs
        return {"outputs": {output: any(output.lower() in text for text in messages) for output in outputs}}

    def _act(self, name, kwargs, read):
        if name not in self.tools:
            return f"Unknown action {name}"
        try:
            observation = self.tools[name].invoke(data=self.data, **read(kwargs))
        except Exception as error:
            return f"Error: {error}"
        if isinstance(observation, str):
            return observation
        return f"Error: {name} must answer with text: it gave {type(observation).__name__}"

    def _task(self, request):
        return self.tasks[request["split"]][request["index"]]

    def _tables(self):
        return [[name, repr(name), _has_rows(rows)] for name, rows in sorted(self.data.items())]

    def _changes_of(self, table):
        """Yields the records of a table that differ from the start."""
        rows = self.data.get(table, {})
        marks, start_marks = _chunk_marks(rows), self.start_chunks.get(table, [])
        if marks == start_marks and None not in marks:
            return
        keys = {key for key, _record in _records(rows)}
        yield from ([table, key, None] for key in self.start.get(table, {}) if key not in keys)
        for chunk, mark, start_mark in zip(_chunks(rows), marks, itertools.chain(start_marks, itertools.repeat(None))):
            for key, record in () if mark is not None and mark == start_mark else chunk:
                text = self._changed_text(table, key, record)
                if text is not None:
                    yield [table, key, text]

    def _changed_text(self, table, key, record):
        """Returns the text of a record that differs from the start, which is known by a hash of 64 bits only."""
        bytes_mark, text_mark = self.start.get(table, {}).get(key, (None, None))
        if bytes_mark is not None and bytes_mark == _mark(record):
            return None
        text = self._text(table, key, record)
        return None if text_mark == hash(text) else text

    def _marks(self, table, rows):
        for key, record in _records(rows):
            yield key, (_mark(record), hash(self._text(table, key, record)))

    def _text(self, table, key, record):
        """Returns the record as tau-bench writes it in the text that it hashes."""
        return str((table if key is None else key, self.to_hashable(record)))


def _env_class(package, base):
    modules = (package, importlib.import_module(f"{package.__name__}.env"))
    for value in (value for module in modules for value in vars(module).values()):
        if inspect.isclass(value) and issubclass(value, base) and value is not base:
            return value
    raise ImportError(f"{package.__name__} has no class of {base.__name__}")


def _split_names(folder):
    found = (re.fullmatch(r"tasks_(\w+)\.py", name) for name in os.listdir(folder))
    return sorted(match[1] for match in found if match)


def _envs(make, splits):
    """Makes an env of each split of the domain. All share the data of the first."""
    envs = {}
    for split in splits:
        try:
            env = make(user_strategy="human", task_split=split, task_index=0)
        except ValueError:
            continue  # a tasks file of a split that the domain rejects
        if envs:
            env.data = next(iter(envs.values())).data
        envs[split] = env
        gc.collect()
    if not envs:
        raise ImportError(f"{make.__name__} offers none of the splits {', '.join(splits) or 'of no file'}")
    return envs


def _has_rows(rows):
    return type(rows) is dict and all(type(key) is str for key in rows)


def _records(rows):
    """Returns the records of a table by key. A table that is not a dict with string keys is one record, with no key."""
    return rows.items() if _has_rows(rows) else [(None, rows)]


def _chunks(rows):
    return itertools.batched(_records(rows), CHUNK)


def _mark(record, version=2):
    """Returns a hash of the record, or None if it cannot be marshalled."""
    try:
        return hash(marshal.dumps(record, version))
    except ValueError:
        return None


def _chunk_marks(rows):
    """Returns a hash for each chunk of records. It is faster, but may change although no record did."""
    return [_mark(list(chunk), 4) for chunk in _chunks(rows)]


def _plain_task(task):
    actions = [{"name": action.name, "kwargs": json.dumps(action.kwargs)} for action in task.actions]
    return {
        "user_id": task.user_id,
        "instruction": task.instruction,
        "actions": actions,
        "outputs": task.outputs,
    }


def respond():
    """Responds to the request on stdin. Output of the tools is dropped."""
    request = json.loads(sys.stdin.read())
    streams = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = io.StringIO()
    try:
        response = REQUESTS[request["do"]](request)
    finally:
        sys.stdout, sys.stderr = streams
    sys.stdout.write(json.dumps(response))


def open_domain(name):
    global REQUESTS
    sys.path.insert(0, CHECKOUT)
    domain = Domain(name)
    REQUESTS = {
        "describe": domain.describe,
        "step": domain.step,
        "changes": domain.changes,
        "everything": domain.everything,
        "expected_changes": domain.expected_changes,
        "outputs": domain.outputs,
    }
