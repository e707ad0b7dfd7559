import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  computeGain,
  type EvaluationOutcome,
  type WorkspaceEvaluation,
} from "../../../src/envs/workspace/evaluation.ts";
import { loadWorkspaceTask } from "../../../src/envs/workspace/config/load_task.ts";
import { REPLY_PARSERS } from "../../../src/envs/workspace/replies/reply_parsers.ts";
import { Workspace } from "../../../src/envs/workspace/workspace.ts";
import { WorkspaceEnv } from "../../../src/envs/workspace/workspace_env.ts";
import { WorkspaceEvaluator } from "../../../src/envs/workspace/evaluation/evaluator.ts";
import { ScriptFile } from "../../../src/policy/scripted.ts";
import { AGENT } from "./open_workspace.ts";
import { EvaluatorBench, submissionOf } from "./evaluation/evaluator_fixture.ts";

const EXAMPLES = fileURLToPath(new URL("../../../examples/workspace/", import.meta.url));

/** What a task's starter files score, and what its scripted agent does in the end. */
interface Expected {
  readonly metric: string;
  readonly start: number;
  readonly end: number;
  readonly within: number;
}

const EXPECTED: Readonly<Record<string, Expected>> = {
  prisoners_dilemma: { metric: "Score", start: 2.375, end: 2.613, within: 0.025 },
  battle_of_the_sexes: { metric: "Score", start: 1.022, end: 1.44, within: 0.02 },
  blotto: { metric: "Score", start: -0.249, end: 0.248, within: 0.02 },
  regression: { metric: "RMSE", start: 372.5, end: 46, within: 3 },
  bug_fixing: { metric: "passed", start: 7 / 22, end: 1, within: 1e-9 },
};

// The tests share sandboxes, which outlive the test that starts them.
Deno.test.sanitizer({ ops: false, resources: false });
const bench = await EvaluatorBench.open();
Deno.test.afterAll(() => bench[Symbol.asyncDispose]());

Deno.test("the scripted agent of each task improves on the starter files", async (t) => {
  for (const [name, { metric, start, end, within }] of Object.entries(EXPECTED)) {
    await t.step(name, async () => {
      const evaluation = await playedBy(name);
      assert(evaluation?.outcome.status === "scored", JSON.stringify(evaluation));
      assertEquals(evaluation.action, "submit");
      assertNear(evaluation.baseline?.[metric] ?? NaN, start, within);
      assertNear(evaluation.outcome.scores[metric] ?? NaN, end, within);
      assert((computeGain(evaluation) ?? 0) > 0);
    });
  }
});

Deno.test("the prisoner's dilemma gives simple strategies their known scores", async (t) => {
  const known = {
    "always defects": ["1", 2.613],
    "always cooperates": ["0", 2.247],
    "tit for tat": ["history[-1][1] if history else 0", 2.348],
  } as const;
  for (const [name, [move, score]] of Object.entries(known)) {
    await t.step(name, async () => {
      const outcome = await strategyScore("prisoners_dilemma", move);
      assert(outcome.status === "scored", JSON.stringify(outcome));
      assertNear(outcome.scores.Score ?? NaN, score, 0.02);
    });
  }
});

Deno.test("the games reject invalid moves", async (t) => {
  const refused = {
    prisoners_dilemma: ["2", "None", "True", "1.0", "'0'", "[0]", "-1"],
    battle_of_the_sexes: ["2", "None"],
    blotto: [
      "[20] * 7",
      "[-1, 20, 20, 20, 20, 20]",
      "[20.0] * 6",
      "[121, 0, 0, 0, 0, 0]",
      "'123456'",
      "None",
    ],
  };
  for (const [name, moves] of Object.entries(refused)) {
    await t.step(name, async () => {
      for (const move of moves) {
        const outcome = await strategyScore(name, move);
        assert(outcome.status === "failed" && outcome.message.startsWith("ValueError: "), move);
      }
    });
  }
});

Deno.test("bug_fixing gives no score for returning an error's name or raising an expected result", async () => {
  for (
    const parse of [
      'return "ValueError"',
      'raise type("", (Exception,), {})',
      'raise type("7", (Exception,), {})',
    ]
  ) {
    const source = `def parse(text): ${parse}\nmerge = gaps = total = show = parse\n`;
    const outcome = await scoreOf("bug_fixing", { "spans/__init__.py": source });
    assertEquals(outcome, { status: "scored", scores: { passed: 0 }, artefact: "spans/" });
  }
});

/** Plays the replies that lie beside a task, and gives the last evaluation. */
async function playedBy(name: string): Promise<WorkspaceEvaluation | undefined> {
  const task = await loadWorkspaceTask(join(EXAMPLES, name));
  const { pool, evaluationPool } = bench;
  const evaluator = new WorkspaceEvaluator({ plan: task.evaluation, pool, evaluationPool });
  await using workspace = await Workspace.open({ task, agent: AGENT, evaluator });
  await using env = new WorkspaceEnv({ workspaces: () => workspace });
  await env.reset({ id: name, query: "" }, { seed: 1 });
  let last: WorkspaceEvaluation | undefined;
  for (const command of await commandsOf(name)) {
    const { workspace } = await env.step({ command });
    last = workspace?.evaluation ?? last;
  }
  return last;
}

async function commandsOf(name: string): Promise<string[]> {
  const file = await ScriptFile.read(join(EXAMPLES, name, "replies.jsonl"));
  return (file.repliesOf(name) ?? []).map((reply) => {
    const parsed = REPLY_PARSERS.ThoughtActionParser?.parse(String(reply), []);
    if (parsed === undefined || "fault" in parsed) throw new Error(`it must hold a command: ${reply}`);
    return parsed.action;
  });
}

/** What a strategy scores that always makes the same move, an expression of Python. */
async function strategyScore(name: string, move: string): Promise<EvaluationOutcome> {
  return await scoreOf(name, { "strategy.py": `def row_strategy(history): return ${move}` });
}

async function scoreOf(
  name: string,
  files: Readonly<Record<string, string>>,
): Promise<EvaluationOutcome> {
  const { evaluation: plan } = await loadWorkspaceTask(join(EXAMPLES, name));
  const { pool, evaluationPool } = bench;
  await using evaluator = new WorkspaceEvaluator({ plan, pool, evaluationPool });
  return await evaluator.evaluate(submissionOf(files), { seed: 1 });
}

function assertNear(actual: number, expected: number, within: number): void {
  assert(Math.abs(actual - expected) <= within, `${actual} must be within ${within} of ${expected}`);
}
