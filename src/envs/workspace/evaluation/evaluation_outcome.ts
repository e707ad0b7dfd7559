import type { ExecResult } from "../../../sandbox/exec.ts";
import type { EvaluationOutcome } from "../evaluation.ts";
import type { EvaluationPlan } from "../workspace_task.ts";
import { parseScores } from "./parse_scores.ts";

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
