import type { ExecResult } from "../../../sandbox/exec.ts";
import type { EvaluationOutcome } from "../evaluation.ts";
import type { EvaluationPlan } from "../workspace_task.ts";
import { parseScores } from "./parse_scores.ts";

/** Longer output is cut: a message of an agent's is no place for it. */
const MAX_CHARACTERS = 4_000;
/** Raised in the evaluator's session when a call of the submission went wrong. */
const SUBMISSION_ERROR = "SubmissionError";

/** What a run of an evaluation's script comes to. Only a script that ended well has scores. */
export function evaluationOutcome(result: ExecResult, plan: EvaluationPlan): EvaluationOutcome {
  if (result.status === "ok") {
    return scored((plan.kind === "module" ? result.value : result.stdout) ?? "", plan);
  }
  if (result.status === "timeout") {
    return failed(`the evaluation must be done within ${plan.timeoutMs / 1000} seconds: it was not`);
  }
  if (result.status !== "error") return failed(`the evaluation ended as '${result.status}'`);
  const { type, message } = result.error;
  if (type === SUBMISSION_ERROR) return failed(message);
  const fault = `${type}: ${message}`;
  return plan.kind === "module" ? failed(fault) : malformed(`${result.stdout}${fault}`);
}

function scored(text: string, { submission }: EvaluationPlan): EvaluationOutcome {
  const scores = parseScores(text);
  if (scores === undefined) return malformed(text);
  return { status: "scored", scores, artefact: submission[0] ?? "" };
}

function failed(message: string): EvaluationOutcome {
  return { status: "failed", message: cut(message) };
}

function malformed(output: string): EvaluationOutcome {
  return { status: "malformed", output: cut(output) };
}

function cut(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
}
