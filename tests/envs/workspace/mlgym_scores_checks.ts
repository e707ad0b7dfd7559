/** Scores the starter files of MLGym's tasks in sandboxes and with `python3`, which needs no package for them. */
import { assert, assertEquals } from "@std/assert";
import { basename, join } from "node:path";
import { loadWorkspaceTask, WorkspaceEvaluator } from "../../../mod/mlgym.ts";
import { loadProfile, SandboxPool } from "../../../mod/sandbox.ts";
import type { Scores, WorkspaceTask } from "../../../src/envs/workspace/task.ts";
import numpyStandIn from "../../../src/envs/workspace/evaluation/numpy_stand_in.py" with { type: "text" };
import { run } from "../../../packaging/sources.ts";
import { TempFolder } from "../../temp_folder.ts";

const checkout = Deno.env.get("PADDOCK_MLGYM") ?? "";
if (checkout === "") {
  throw new Error("Cannot test MLGym as PADDOCK_MLGYM must name a checkout: it is not set");
}

/** Games of 100,000 rounds; the standard deviation of their scores is at most 0.0065. */
const GAMES = ["battleOfSexes", "blotto", "prisonersDilemma"];
const MAX_DIFFERENCE = 0.04;

/** Instances in the form of the dataset of 3SATTime, which MLGym's checkout lacks; solved by trying all values. */
const MAKE_DATASET = `
import itertools, pickle, random
choose = random.Random(0)
rows = [None] * 3
for index in range(60):
    variables = choose.randint(5, 10)
    clauses = choose.randint(2 * variables, 6 * variables)
    literal = lambda variable: choose.choice([variable, -variable])
    formula = [[literal(each) for each in choose.sample(range(1, variables + 1), 3)] for _ in range(clauses)]
    holds = lambda values: all(any((each > 0) == values[abs(each) - 1] for each in clause) for clause in formula)
    solved = any(map(holds, itertools.product([True, False], repeat=variables)))
    rows.append((index, variables, clauses, formula, solved, None))
pickle.dump(rows, open("dataset.pkl", "wb"))
`;

const readTask = (name: string) => loadWorkspaceTask(join(checkout, "configs/tasks", `${name}.yaml`));

/** Runs the evaluation of a task with its starter files, and further ones, in a folder of the host. */
async function scoreNatively(
  task: WorkspaceTask,
  files: Readonly<Record<string, Uint8Array>> = {},
): Promise<Scores> {
  const starter = await Promise.all(
    task.starter.map(async ({ path, hostPath }) => [path, await Deno.readFile(hostPath)] as const),
  );
  await using folder = await TempFolder.of({
    ...Object.fromEntries(starter),
    ...files,
    "numpy.py": numpyStandIn,
  });
  return JSON.parse(await run("python3", [task.evaluation.script.path], { cwd: folder.path }));
}

/** Opens a pool whose sandboxes have time for 100,000 calls, as those of a workspace. */
async function openPool(name: string): Promise<SandboxPool> {
  const { limits, ...profile } = await loadProfile(name);
  return new SandboxPool({ profile: { ...profile, limits: { ...limits, cpuSeconds: 3_600 } }, size: 1 });
}

/** Runs the evaluation of a task with its starter files in sandboxes. */
async function scoreInSandboxes(task: WorkspaceTask): Promise<Scores> {
  await using pool = await openPool("workspace");
  await using evaluationPool = await openPool("evaluation");
  await using evaluator = new WorkspaceEvaluator({ plan: task.evaluation, pool, evaluationPool });
  const submission = new Map<string, Uint8Array>();
  for (const { path, hostPath } of task.starter) submission.set(path, await Deno.readFile(hostPath));
  const outcome = await evaluator.evaluate(submission, { seed: 1 });
  assert(outcome.status === "scored", JSON.stringify(outcome));
  return outcome.scores;
}

for (const name of GAMES) {
  Deno.test(`MLGym's ${name} has the score of native Python`, async () => {
    const task = await readTask(name);
    const scores = [await scoreNatively(task), await scoreInSandboxes(task)].map(({ Score }) => Score ?? NaN);
    const [native = NaN, sandbox = NaN] = scores;
    assert(Math.abs(native - sandbox) < MAX_DIFFERENCE, scores.join(" and "));
  });
}

Deno.test("MLGym's 3SATTime makes the decisions of native Python, on generated instances", async () => {
  await using folder = await TempFolder.of();
  await run("python3", ["-c", MAKE_DATASET], { cwd: folder.path });
  const dataset = { path: "data/dataset.pkl", hostPath: join(folder.path, "dataset.pkl") };
  const loaded = await readTask("3SATTime");
  const task = {
    ...loaded,
    evaluation: { ...loaded.evaluation, files: [...loaded.evaluation.files, dataset] },
  };
  const native = await scoreNatively(task, { [dataset.path]: await Deno.readFile(dataset.hostPath) });
  const sandbox = await scoreInSandboxes(task);
  assert((native["Decisions"] ?? 0) > 0);
  assertEquals({ ...sandbox, Time: 0 }, { ...native, Time: 0 });
  assertEquals(basename(task.evaluation.submission.join()), "heuristic.py");
});
