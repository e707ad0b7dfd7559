"""Plays a checkout's tasks with the real Python, without a sandbox, and prints the results as JSON lines."""


class BriefUser:
    """Returns empty messages, and stops after `turns` messages."""

    def __init__(self, turns=None):
        self.turns = turns

    def reset(self, instruction=None):
        return ""

    def step(self, content):
        if self.turns is None:
            return ""
        self.turns -= 1
        return "###STOP###" if self.turns == 0 else ""

    def get_total_cost(self):
        return 0.0


def opened(checkout, domain, split):
    sys.path.insert(0, checkout)
    base = importlib.import_module("tau_bench.envs.base")
    make = _env_class(importlib.import_module(f"tau_bench.envs.{domain}"), base.Env)
    env = make(user_strategy="human", task_split=split, task_index=0)
    env.user = BriefUser()
    return env


def replay(checkout, domain, split):
    """Replays the own actions of each task."""
    env = opened(checkout, domain, split)
    env.terminate_tools = []  # they would compute the reward, which changes the data
    for index, task in enumerate(env.tasks):
        env.reset(index)
        observations = [env.step(action).observation for action in task.actions]
        replayed = {"split": split, "index": index, "observations": observations, "hash": env.get_data_hash()}
        print(json.dumps(replayed), flush=True)


def rewards(checkout, domain, split, cases):
    """Plays episodes to their end and prints the checkout's own `calculate_reward`, if it has one."""
    env = opened(checkout, domain, split)
    if not hasattr(env, "calculate_reward"):
        return
    hash_data, hashes = env.get_data_hash, []
    env.get_data_hash = lambda: hashes.append(hash_data()) or hashes[-1]
    Action = importlib.import_module("tau_bench.types").Action
    for case in cases:
        env.user = BriefUser(len(case["messages"]))
        env.reset(case["index"])
        actions = [Action(name=call["name"], kwargs=json.loads(call["kwargs"])) for call in case["calls"]]
        actions += [Action(name=RESPOND, kwargs={"content": text}) for text in case["messages"]]
        for action in actions:
            response = env.step(action)
        info = response.info.reward_info
        left, wanted = hashes[-2:]
        rewarded = {
            "reward": response.reward,
            "database": int(left == wanted),
            "gt_data_hash": wanted,
            "outputs": getattr(info.info, "outputs", None),
            "actions": [json.dumps([action.name, action.kwargs]) for action in info.actions],
        }
        print(json.dumps(rewarded), flush=True)
