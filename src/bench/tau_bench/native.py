"""Replays each task's own actions with the real Python, in no sandbox, and prints what came of them as JSON lines."""


class SilentUser:
    def reset(self, instruction=None):
        return ""

    def step(self, content):
        return ""

    def get_total_cost(self):
        return 0.0


def replay(checkout, domain, splits):
    sys.path.insert(0, checkout)
    base = importlib.import_module("tau_bench.envs.base")
    make = _env_class(importlib.import_module(f"tau_bench.envs.{domain}"), base.Env)
    for split in splits:
        env = make(user_strategy="human", task_split=split, task_index=0)
        env.user = SilentUser()
        env.terminate_tools = []  # the reward, which one of these would set off, changes the data
        for index, task in enumerate(env.tasks):
            env.reset(index)
            observations = [env.step(action).observation for action in task.actions]
            replayed = {"split": split, "index": index, "observations": observations, "hash": env.get_data_hash()}
            print(json.dumps(replayed), flush=True)


replay(sys.argv[1], sys.argv[2], sys.argv[3:])
