import { z } from "zod";
import { moduleCall, moduleDefinitions } from "../../../sandbox/isolated/callee.ts";
import { type ExecResult, type HostTool, hostTool, type PythonSession } from "../../../sandbox/exec.ts";
import type { EvaluationPlan } from "../workspace_task.ts";
import evaluationSource from "./evaluation.py" with { type: "text" };
import numpyStandIn from "./numpy_stand_in.py" with { type: "text" };
import type { SubmissionCallee } from "./submission_callee.ts";
import { SUBMISSION_FOLDER } from "./submitted_files.ts";

/** Options of {@linkcode runEvaluation}. */
export interface RunEvaluationOptions {
  readonly plan: EvaluationPlan;
  /** The script and the files beside it. */
  readonly files: Readonly<Record<string, Uint8Array>>;
  readonly submitted: Readonly<Record<string, Uint8Array>>;
  readonly submission: SubmissionCallee;
  readonly signal?: AbortSignal | undefined;
}

const EVALUATION_MODULE = "paddock_evaluation";
/** Extra time of an evaluation beyond its submission's timeout, for the transfer of calls. */
const MARGIN_MS = 10_000;
const MAX_MS = 24 * 3_600_000;

/**
 * Runs the script of a plan in a session that has never run a submission.
 *
 * @throws {Error} if the submission's session fails for a reason other than the submission.
 */
export async function runEvaluation(
  session: PythonSession,
  options: RunEvaluationOptions,
): Promise<ExecResult> {
  const { plan, files, submitted, submission, signal } = options;
  const modules = { paddock_numpy_stand_in: numpyStandIn, [EVALUATION_MODULE]: evaluationSource };
  const failures: unknown[] = [];
  const result = await session.exec(`${moduleDefinitions(modules)}\n${startCode(options)}`, {
    files: { ...dataFiles(plan, submitted), ...files },
    tools: [callTool(submission, (error) => failures.push(error))],
    timeoutMs: Math.min(plan.timeoutMs + MARGIN_MS, MAX_MS),
    signal,
  });
  if (failures.length > 0) throw failures[0];
  return result;
}

function startCode({ plan, files, submitted }: RunEvaluationOptions): string {
  const { kind, script, submission } = plan;
  const paths = Object.keys(submitted);
  if (kind === "module") return moduleCall(EVALUATION_MODULE, "run_module", [script.path, paths]);
  const flags = kind === "csv-script" ? ["--submission_file", submission[0] ?? "submission.csv"] : [];
  // The evaluation's own copy of a module takes precedence over a submitted one.
  const submittedModules = paths.filter((path) => path.endsWith(".py") && !Object.hasOwn(files, path));
  const modules = kind === "csv-script" ? [] : submittedModules.map(moduleOf);
  return moduleCall(EVALUATION_MODULE, "run_script", [script.path, flags, modules]);
}

function moduleOf(path: string): string {
  return path.replace(/(?:\/__init__)?\.py$/, "").replaceAll("/", ".");
}

/** Returns the submitted files as data: for a CSV script at their own paths, else for `submission.read`. */
function dataFiles(
  { kind }: EvaluationPlan,
  submitted: Readonly<Record<string, Uint8Array>>,
): Record<string, Uint8Array> {
  if (kind === "csv-script") return { ...submitted };
  return Object.fromEntries(
    Object.entries(submitted).map(([path, contents]) => [`${SUBMISSION_FOLDER}/${path}`, contents]),
  );
}

function callTool(submission: SubmissionCallee, onFailure: (error: unknown) => void): HostTool {
  return hostTool({
    name: "call_submission",
    description: "Calls a function of the submission.",
    parameters: z.object({ name: z.string(), arguments: z.string() }),
    async run({ name, arguments: args }) {
      try {
        return await submission.call(name, args);
      } catch (error) {
        onFailure(error);
        throw error;
      }
    },
  });
}
