import { join } from "node:path";
import { LIBRARY_DESK } from "./library_desk.ts";

const DOMAIN = `
import os
from tau_bench.envs.base import Env
from tau_bench.envs.tool import Tool, describe
from tau_bench.types import Action, Task

SHELF = {"one": {"count": 1}}

def tool(name, work):
    class Odd(Tool):
        invoke = staticmethod(work)
        get_info = staticmethod(lambda: describe(name, "Odd"))
    return Odd

def add(data, by):
    data["shelf"]["one"]["count"] += by
    return str(data["shelf"]["one"]["count"])

def loud(data):
    print("{}")
    os.write(1, b"")
    return "said"

def forever(data):
    while True:
        pass

def leave(data):
    raise SystemExit(3)

def vanish(data):
    os.abort()

def hoard(data):
    data["shelf"]["one"]["all"] = bytearray(1 << 30)

def lists(data):
    data["shelf"] = ["no", "rows"]
    data["more"] = 0.5
    return "done"

def drop(data):
    del data["shelf"]["one"]
    data["shelf"]["\\U0001f600"] = data["shelf"]["\\uffff"] = None
    return "done"

TASKS = [Task(user_id="u", instruction="", outputs=[], actions=[Action(name="add", kwargs={"by": 2})])]
WORKS = {"add": add, "loud": loud, "forever": forever, "leave": leave, "vanish": vanish, "hoard": hoard,
         "nothing": lambda data: None, "lists": lists, "drop": drop}

class OddEnv(Env):
    def __init__(self, user_strategy, task_split, task_index):
        if task_split != "test":
            raise ValueError(f"Unknown task split: {task_split}")
        tools = [tool(name, work) for name, work in WORKS.items()]
        load = lambda: {"shelf": {key: dict(value) for key, value in SHELF.items()}}
        super().__init__(load, tools, TASKS, "", [], [], task_index)
`;

/** A folder with the layout of tau-bench whose domain `odd` has tools that do what no tool should; and broken ones. */
export async function makeOddCheckout(): Promise<{ path: string } & AsyncDisposable> {
  const path = await Deno.makeTempDir();
  const copy = async (file: string) => {
    await Deno.copyFile(join(LIBRARY_DESK, "tau_bench", file), join(path, "tau_bench", file));
  };
  const write = async (domain: string, files: Record<string, string>) => {
    const folder = join(path, "tau_bench/envs", domain);
    await Deno.mkdir(folder, { recursive: true });
    for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(join(folder, name), text);
  };
  await write("odd", { "__init__.py": "", "env.py": DOMAIN, "tasks_test.py": "", "tasks_other.py": "" });
  await write("unmet", { "__init__.py": "import numpy_of_old\n", "env.py": "" });
  await write("empty", { "__init__.py": "", "env.py": "" });
  for (const file of ["types.py", "envs/base.py", "envs/tool.py"]) await copy(file);
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}
