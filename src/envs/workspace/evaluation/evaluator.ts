import { basename } from "node:path";
import * as z from "zod";
import { attributeErrors, SandboxError } from "../../../errors.ts";
import { sha256 } from "../../../hash.ts";
import type { ExecResult } from "../../../sandbox/contract/exec.ts";
import type { SessionPool } from "../../../sandbox/contract/pool.ts";
import { SessionPair } from "../../../sandbox/isolated/session_pair.ts";
import { listStarterFiles } from "../config/starter_files.ts";
import type { EvaluateOptions, EvaluationOutcome, Evaluator, Submission } from "../evaluation.ts";
import type { EvaluationPlan, Scores } from "../task.ts";
import { runEvaluation, selectSubmittedFiles, SubmissionCallee } from "./run.ts";
import { parseUntrustedJson } from "../../../json.ts";

/** Options of {@linkcode WorkspaceEvaluator}. */
export interface WorkspaceEvaluatorOptions {
  readonly plan: EvaluationPlan;
  /**
   * Pool of the sessions that run submissions. The pool must not be the episodes' pool. The evaluator does not dispose
   * the pool.
   */
  readonly pool: SessionPool;
  /**
   * Pool of the sessions that run the plan's script, with a profile that has `hostTools`, such as `evaluation`. Model
   * code must never run in these sessions. The evaluator does not dispose the pool.
   */
  readonly evaluationPool: SessionPool;
}

/**
 * Scores submissions in isolation: the plan's script and the submission run in two processes. Only calls and plain
 * data cross between the two. Output never counts as a score, except the output of MLGym's scripts in their own
 * process.
 *
 * - `module`: the script's `evaluate(submission)` returns a dict of metrics. The script can use `submission.files()`,
 *   `submission.read(path)` and `read_text(path)`, `submission.call("module.function", *args)` and
 *   `submission.map("module.function", [args, …])`, which makes many calls at once. A call that raises, or that
 *   returns anything but plain data, raises `SubmissionError` of `paddock_evaluation`, with a `kind`.
 * - `csv-script`: the script gets the path as `--submission_file` and prints JSON.
 * - `python-script`: the script imports proxies of the submission's modules, whose functions run in the other process,
 *   and prints JSON. Without numpy, replacements of numpy's `asarray` and `mean` are provided.
 *
 * A submission that ends the interpreter or exceeds the timeout fails, even if the script catches the error.
 */
export class WorkspaceEvaluator implements Evaluator {
  readonly #plan: EvaluationPlan;
  readonly #pair: SessionPair;
  readonly #end = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #files: Promise<Record<string, Uint8Array>> | undefined;

  constructor({ plan, pool, evaluationPool }: WorkspaceEvaluatorOptions) {
    this.#plan = plan;
    this.#pair = new SessionPair(pool, evaluationPool);
  }

  /**
   * {@inheritDoc Evaluator.evaluate}
   *
   * The same seed gives the script the same randomness, for example the same opponent's moves. A submission cannot
   * predict the randomness, even if the submission knows the seed.
   *
   * @throws {Error} if a file of the plan cannot be read, or the evaluator is disposed.
   */
  async evaluate(submission: Submission, options: EvaluateOptions = {}): Promise<EvaluationOutcome> {
    this.#end.signal.throwIfAborted();
    const signal = options.signal ? AbortSignal.any([options.signal, this.#end.signal]) : this.#end.signal;
    signal.throwIfAborted();
    const submitted = selectSubmittedFiles(submission, this.#plan.submission);
    if ("missing" in submitted) return { status: "missing", message: submitted.missing };
    if ("fault" in submitted) return { status: "failed", message: submitted.fault };
    const running = this.#run(submitted.files, { seed: options.seed, signal });
    this.#running.add(running);
    return await running.finally(() => this.#running.delete(running));
  }

  /** Stops running evaluations. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new Error("Cannot evaluate as the evaluator is disposed"));
    await Promise.allSettled(this.#running);
  }

  /** Reads the plan's files once. After a failure the next evaluation tries again. */
  #read(): Promise<Record<string, Uint8Array>> {
    if (this.#files !== undefined) return this.#files;
    const files = this.#files = readEvaluationFiles(this.#plan);
    files.catch(() => this.#files = undefined);
    return files;
  }

  async #run(
    submitted: Readonly<Record<string, Uint8Array>>,
    options: { seed: number | undefined; signal: AbortSignal },
  ): Promise<EvaluationOutcome> {
    const { signal } = options;
    const plan = this.#plan;
    const files = await this.#read();
    const seed = options.seed === undefined ? undefined : await deriveEvaluationSeed(options.seed, files);
    await using leases = new AsyncDisposableStack();
    const { forCallee, forCaller } = await attributeErrors(
      () => this.#pair.acquire(leases, { seed, signal }),
      { error: SandboxError, failure: "Cannot evaluate", signal },
    );
    const callee = new SubmissionCallee(forCallee.session, { timeoutMs: plan.timeoutMs, signal });
    await callee.load(submitted);
    const run = { plan, files, submitted, submission: callee, signal };
    const result = await runEvaluation(forCaller.session, run);
    if (callee.termination !== undefined) return { status: "failed", message: callee.termination };
    return outcomeOf(result, plan);
  }
}

/** Maximum length of a message to an agent, in characters. */
const MAX_CHARACTERS = 4_000;
/** Exception in the evaluator's session after a failedOutcome call of the submission. */
const SUBMISSION_ERROR = "SubmissionError";

/** Returns the outcome of a run of an evaluation's script. Only a script that ended normally has scores. */
export function outcomeOf(result: ExecResult, plan: EvaluationPlan): EvaluationOutcome {
  if (result.status === "ok") {
    return scoredOutcome((plan.kind === "module" ? result.value : result.stdout) ?? "", plan);
  }
  if (result.status === "timeout") {
    return failedOutcome(`the evaluation took longer than ${plan.timeoutMs / 1000} seconds`);
  }
  if (result.status !== "error") return failedOutcome(`the evaluation ended as '${result.status}'`);
  const { type, message } = result.error;
  if (type === SUBMISSION_ERROR) return failedOutcome(message);
  const fault = `${type}: ${message}`;
  return plan.kind === "module" ? failedOutcome(fault) : malformedOutcome(`${result.stdout}${fault}`);
}

function scoredOutcome(text: string, { submission }: EvaluationPlan): EvaluationOutcome {
  const scores = parseScores(text);
  if (scores === undefined) return malformedOutcome(text);
  return { status: "scored", scores, artefact: submission[0] ?? "" };
}

function failedOutcome(message: string): EvaluationOutcome {
  return { status: "failed", message: cut(message) };
}

function malformedOutcome(output: string): EvaluationOutcome {
  return { status: "malformed", output: cut(output) };
}

function cut(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
}

const scoresSchema = z.record(z.string().min(1), z.number()).refine((scores) =>
  Object.keys(scores).length > 0
);

/** Parses metrics in JSON, each a finite number; `undefined` for anything else. */
export function parseScores(text: string): Scores | undefined {
  try {
    return scoresSchema.safeParse(parseUntrustedJson(text)).data;
  } catch {
    return undefined; // not JSON
  }
}

/**
 * Reads the script of a plan and the files beside the script, by path.
 *
 * @throws {Error} if a file cannot be read.
 */
async function readEvaluationFiles(plan: EvaluationPlan): Promise<Record<string, Uint8Array>> {
  const files: Record<string, Uint8Array> = {};
  for (const { path, hostPath } of [...plan.files, plan.script]) {
    for (const part of await listStarterFiles(hostPath)) {
      const place = path + part.path.slice(basename(hostPath).length);
      files[place] = await Deno.readFile(part.hostPath);
    }
  }
  return files;
}

/** Number of hexadecimal digits that fit into a safe integer. */
const DIGITS = 13;

/**
 * Returns the seed of an evaluation's randomness, derived from the episode's seed and the hidden files. A submission
 * does not have these files, and so cannot predict an opponent's random moves from the episode's seed.
 */
export async function deriveEvaluationSeed(
  seed: number,
  files: Readonly<Record<string, Uint8Array>>,
): Promise<number> {
  const paths = Object.keys(files).sort();
  const digests = await Promise.all(paths.map((path) => sha256(files[path] ?? new Uint8Array(0))));
  const hash = await sha256(JSON.stringify([seed, paths, digests]));
  return Number.parseInt(hash.slice(0, DIGITS), 16);
}
