"""Base class of a domain, in tau-bench's layout: data, tools, tasks, and a hash of the data."""

from hashlib import sha256
from types import SimpleNamespace


def to_hashable(item):
    """Converts dicts, sorted by key, and lists to nested tuples."""
    if isinstance(item, dict):
        return tuple((key, to_hashable(value)) for key, value in sorted(item.items()))
    if isinstance(item, list):
        return tuple(map(to_hashable, item))
    return item


class Env:
    def __init__(self, data_load_func, tools, tasks, wiki, rules, terminate_tools, task_index=0):
        self.data_load_func = data_load_func
        self.tools_map = {tool.get_info()["function"]["name"]: tool for tool in tools}
        self.tools_info = [tool.get_info() for tool in tools]
        self.tasks, self.wiki, self.rules = tasks, wiki, rules
        self.terminate_tools = terminate_tools
        self.user = None
        self.reset(task_index)

    def reset(self, task_index):
        self.data = self.data_load_func()
        self.task = self.tasks[task_index]

    def step(self, action):
        """Runs a tool on the data. Paddock simulates users and computes rewards."""
        if action.name not in self.tools_map:
            return SimpleNamespace(observation=f"Unknown action {action.name}")
        try:
            observation = self.tools_map[action.name].invoke(data=self.data, **action.kwargs)
        except Exception as error:
            observation = f"Error: {error}"
        return SimpleNamespace(observation=observation)

    def get_data_hash(self):
        return sha256(str(to_hashable(self.data)).encode()).hexdigest()
