from tau_bench.envs.base import Env
from tau_bench.envs.library_desk.data import load_data
from tau_bench.envs.library_desk.rules import RULES
from tau_bench.envs.library_desk.tools import ALL_TOOLS
from tau_bench.envs.library_desk.wiki import WIKI


class LibraryDeskEnv(Env):
    def __init__(self, user_strategy="human", task_split="test", task_index=0):
        match task_split:
            case "test":
                from tau_bench.envs.library_desk.tasks_test import TASKS
            case "train":
                from tau_bench.envs.library_desk.tasks_train import TASKS
            case _:
                raise ValueError(f"Unknown task split: {task_split}")
        super().__init__(load_data, ALL_TOOLS, TASKS, WIKI, RULES, ["call_librarian"], task_index)
