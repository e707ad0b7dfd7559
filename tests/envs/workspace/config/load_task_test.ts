import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { join } from "node:path";
import { loadWorkspaceTask } from "../../../../src/envs/workspace/config/load_task.ts";
import { TempFolder } from "../../../temp_folder.ts";
import { requirePlayable } from "../../../../src/envs/workspace/task.ts";

const OWN = `id: demo
name: Demo
description: Write {{x}}.
starter_code:
- src
- notes.txt
training_timeout: 60
read_only: [notes.txt]
secret_files:
- src/secret.py
command_files: [more.sh]
evaluation:
  module: hidden/score.py
  files: [hidden/truth.csv]
  submission: [src/]
  timeout: 5
  metrics:
    RMSE: minimize
    R2: maximize
`;

const OWN_FILES = {
  "task.yaml": OWN,
  "src/main.py": "",
  "src/secret.py": "",
  "notes.txt": "",
  "more.sh": "",
  "hidden/score.py": "",
  "hidden/truth.csv": "",
};

Deno.test("loadWorkspaceTask() reads a folder's task with Paddock's keys", async () => {
  await using folder = await TempFolder.of(OWN_FILES);
  const task = await loadWorkspaceTask(folder.path);
  requirePlayable(task);
  assertEquals(task.description, "Write {x}.");
  assertEquals(task.starter, [folder.file("notes.txt"), folder.file("src/main.py")].toReversed());
  assertEquals(task.readOnly, ["notes.txt"]);
  assertEquals(task.commandFiles, [{ name: "more.sh", kind: "source", contents: "" }]);
  assertEquals(task.trainingTimeoutMs, 60_000);
  assertEquals(task.evaluation, {
    kind: "module",
    script: { path: "score.py", hostPath: join(folder.path, "hidden/score.py") },
    files: [
      { path: "truth.csv", hostPath: join(folder.path, "hidden/truth.csv") },
      folder.file("src/secret.py"),
    ],
    submission: ["src/"],
    timeoutMs: 5000,
    directions: { RMSE: "minimize", R2: "maximize" },
    metric: "RMSE",
  });
  assertEquals([task.fields.training_timeout, task.fields.benchmark_name], [60, null]);
});

Deno.test("loadWorkspaceTask() finds files in parent folders of a checkout, and reads dataset descriptions", async () => {
  await using folder = await TempFolder.of({
    "configs/tasks/a.yaml":
      "id: a\nname: A\ndescription: |-\n  Data:\n  {dataset_docs}\n  Change `play.py`.\n" +
      "dataset_configs: [datasets/d.yaml]\ntask_entrypoint: PythonSubmissionTasks\nevaluation_read_only: true\n" +
      "starter_code: [data/a/play.py, data/a/other.py, data/a/evaluate.py]\nevaluation_paths: [evaluate.py]\n" +
      "baseline_scores:\n- Time: 3.5\n  Score: 1\n",
    "configs/datasets/d.yaml":
      "name: Points\ndescription: x and {y}\ndata_path: data/a/data\nis_local: true\n",
    "data/a/play.py": "",
    "data/a/other.py": "",
    "data/a/evaluate.py": "",
    "data/a/data/train.csv": "",
  });
  const task = await loadWorkspaceTask(join(folder.path, "configs/tasks/a.yaml"));
  requirePlayable(task);
  assertEquals(task.description, "Data:\nPOINTS:\nx and {y}\n\n\nChange `play.py`.");
  const data = { path: "data", hostPath: join(folder.path, "data/a/data") };
  assertEquals(task.data, [data]);
  assertEquals(task.readOnly, ["evaluate.py"]);
  const { kind, script, files, submission, directions, baseline, timeoutMs } = task.evaluation;
  assertEquals([kind, script.path, submission, timeoutMs], [
    "python-script",
    "evaluate.py",
    ["play.py"],
    3_600_000,
  ]);
  assertEquals(files, [{ path: "other.py", hostPath: join(folder.path, "data/a/other.py") }, data]);
  assertEquals(directions, { Time: "minimize", Score: "maximize" });
  assertEquals(baseline, { Time: 3.5, Score: 1 });
});

Deno.test("loadWorkspaceTask() reads a task that cannot be played, with the reasons in 'faults'", async () => {
  const kind = "id: a\nname: A\ndescription: d\nevaluation_paths: [e.py]\ntask_entrypoint:";
  const cases = [
    [
      `${kind} LMSubmissionTasks`,
      "a task of the kind LMSubmissionTasks needs GPUs and torchrun, which a sandbox does not have",
    ],
    [`${kind} Other`, "'task_entrypoint' must be one of PythonSubmissionTasks, CSVSubmissionTasks, "],
    ["id: a\nname: A\ndescription: d\n", "it must have 'evaluation.module' or 'task_entrypoint'"],
    [
      `${kind} CSVSubmissionTasks\nstarter_code:\n- no.py`,
      "'starter_code' must name an existing file: there is no 'no.py'",
    ],
  ];
  for (const [text = "", fault = ""] of cases) {
    await using folder = await TempFolder.of({ "task.yaml": text, "e.py": "" });
    const task = await loadWorkspaceTask(folder.path);
    assertThrows(() => requirePlayable(task), RangeError, `Cannot play task 'a' as ${fault}`);
  }
});

Deno.test("loadWorkspaceTask() names the file and the line of an error", async () => {
  const head = "id: a\nname: A\ndescription: d\n";
  const cases = [
    [
      `${head}training_timeout: soon\n`,
      `line 4: 'training_timeout' must be a number of seconds > 0: current value is "soon"`,
    ],
    [`${head}trainig_timeout: 3\n`, "line 4: 'trainig_timeout' is an unknown key"],
    [`${head}starter_code:\n- a.py\n- /etc/passwd\n`, "line 6: 'starter_code[1]' must be a relative path"],
    [
      `${head}evaluation:\n  module: m.py\n  metrics:\n    A: best\n`,
      "line 7: 'evaluation.metrics.A' must be maximize or minimize",
    ],
    [`${head}evaluation: {modul: m.py}\n`, "line 4: 'evaluation.modul' is an unknown key"],
    ["id: a\nname: A\n", "line 1: 'description' must be a text: it is missing"],
    ["- a\n", 'line 1: it must be a list of keys and values: it is ["a"]'],
    [
      "id: a\nname: A\ndescription: |-\n  {oops}\n",
      "line 3: Cannot fill template as '{oops}' must name a known value",
    ],
    [`${head}read_only: [b.py]\n`, "line 4: 'read_only' must name starter files: 'b.py' is none of none"],
    ["id: [", "as it must be YAML: "],
  ];
  for (const [text = "", message = ""] of cases) {
    await using folder = await TempFolder.of({ "task.yaml": text });
    const error = await assertRejects(() => loadWorkspaceTask(folder.path), SyntaxError, message);
    assertEquals(error.message.startsWith(`Cannot read task at '${join(folder.path, "task.yaml")}'`), true);
  }
});

Deno.test("loadWorkspaceTask() reports a missing file", async () => {
  const { NotFound } = Deno.errors;
  await assertRejects(
    () => loadWorkspaceTask("/no/such"),
    NotFound,
    "Cannot read task at '/no/such': there is no such",
  );
  await using folder = await TempFolder.of({});
  await assertRejects(() => loadWorkspaceTask(folder.path), NotFound, "task.yaml': there is no such file");
});

Deno.test("loadWorkspaceTask() reads nothing outside of the checkout", async () => {
  const paths = ["../secret.py", "link.py", "sub/../../secret.py"];
  await using outer = await TempFolder.of({
    "secret.py": "x",
    "task/task.yaml": `id: a\nname: A\ndescription: d\nstarter_code: ${JSON.stringify(paths)}\n`,
  });
  await Deno.symlink(join(outer.path, "secret.py"), join(outer.path, "task/link.py"));
  const task = await loadWorkspaceTask(join(outer.path, "task"));
  assertEquals(task.starter, []);
  assertEquals(
    task.faults?.filter((fault) => fault.includes("'starter_code' must name an existing file")).length,
    paths.length,
  );
});

Deno.test("loadWorkspaceTask() finds a task by its short name in the current folder", async () => {
  assertEquals((await loadWorkspaceTask("blotto")).name, "Colonel Blotto");
  const { id } = await loadWorkspaceTask("examples/workspace/bug_fixing");
  assertEquals((await loadWorkspaceTask(id)).id, "bug_fixing");
  await assertRejects(
    () => loadWorkspaceTask("chess"),
    Deno.errors.NotFound,
    "there is no such file or folder, and none at 'configs/tasks/chess.yaml' or 'examples/workspace/chess'. Paths and " +
      "names of tasks are relative to the current folder",
  );
});
