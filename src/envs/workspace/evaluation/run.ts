import * as z from "zod";
import type { ExecResult } from "../../../sandbox/contract/exec.ts";
import type { PythonSession } from "../../../sandbox/contract/pool.ts";
import { type HostTool, hostTool } from "../../../sandbox/host_tool.ts";
import { checkPath } from "../../../sandbox/exec/exec_check.ts";
import { Callee, type CalleeReply, moduleCall, moduleDefinitions } from "../../../sandbox/isolated/callee.ts";
import type { Submission } from "../evaluation.ts";
import type { EvaluationPlan } from "../task.ts";
import evaluationSource from "./evaluation.py" with { type: "text" };
import numpyStandIn from "./numpy_stand_in.py" with { type: "text" };
import submissionSource from "./submission.py" with { type: "text" };

/** Options of {@linkcode runEvaluation}. */
export interface RunEvaluationOptions {
  readonly plan: EvaluationPlan;
  /** The script and the files beside the script. */
  readonly files: Readonly<Record<string, Uint8Array>>;
  readonly submitted: Readonly<Record<string, Uint8Array>>;
  readonly submission: SubmissionCallee;
  readonly signal?: AbortSignal | undefined;
}

const EVALUATION_MODULE = "paddock_evaluation";
/** Extra time of an evaluation beyond the submission's timeout, for the transfer of calls. */
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
  // The evaluation's own copy of a module takes precedence over a submitted module.
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

const SUBMISSION_MODULE = "paddock_submission";

/** Submission in a session that has the submission's files and no file of the evaluation. */
export class SubmissionCallee {
  readonly #callee: Callee;

  constructor(session: PythonSession, options: { timeoutMs: number; signal?: AbortSignal | undefined }) {
    this.#callee = new Callee(session, { ...options, name: "submission" });
  }

  /** Reason why the session was lost; `undefined` while the session runs. */
  get termination(): string | undefined {
    return this.#callee.failure;
  }

  /** Writes the submission's files to the session. */
  async load(files: Readonly<Record<string, Uint8Array>>): Promise<void> {
    const code = `${moduleDefinitions({ [SUBMISSION_MODULE]: submissionSource })}\n${
      moduleCall(SUBMISSION_MODULE, "load", [])
    }`;
    await this.#callee.load(code, files);
  }

  /** Calls `module.function` of the submission with the evaluator's marshalled arguments. */
  async call(name: string, args: string): Promise<CalleeReply> {
    const reply = await this.#callee.call(moduleCall(SUBMISSION_MODULE, "call", [name]), {
      stdin: args,
    });
    if (!("tooLong" in reply)) return reply;
    return { raised: "NoAnswer", base: "Exception", message: "the submission returned too much output" };
  }
}

/** Folder of the submitted files in the evaluator's session, where they are only data. */
const SUBMISSION_FOLDER = ".submission";

const MAX_FILES = 5_000;
const MAX_BYTES = 32 * 1024 * 1024;

/** Files of a submission, or the reason why they are missing or cannot be evaluated. */
export type SubmittedFiles =
  | { readonly files: Readonly<Record<string, Uint8Array>> }
  | { readonly missing: string }
  | { readonly fault: string };

/** Selects the files that a plan asks for: files by path, and folders by a path that ends in `/`. */
export function selectSubmittedFiles(submission: Submission, paths: readonly string[]): SubmittedFiles {
  const matches = (path: string, wanted: string) =>
    wanted.endsWith("/") ? path.startsWith(wanted) : path === wanted;
  const found = [...submission].filter(([path]) => paths.some((wanted) => matches(path, wanted)));
  const missing = paths.find((wanted) => !found.some(([path]) => matches(path, wanted)));
  if (missing !== undefined) return { missing: `there is no '${missing}'` };
  const bytes = found.reduce((sum, [, contents]) => sum + contents.length, 0);
  if (found.length > MAX_FILES || bytes > MAX_BYTES) {
    const allowed = `at most ${MAX_FILES} files and ${MAX_BYTES} bytes`;
    return { fault: `a submission must have ${allowed}: it has ${found.length} and ${bytes}` };
  }
  const invalid = found.find(([path]) => !isValidPath(path));
  if (invalid) return { fault: `a submission must have plain paths: found ${JSON.stringify(invalid[0])}` };
  return { files: Object.fromEntries(found) };
}

function isValidPath(path: string): boolean {
  try {
    checkPath(`${SUBMISSION_FOLDER}/${path}`);
    return path.isWellFormed();
  } catch {
    return false; // the caller reports this to the agent
  }
}
