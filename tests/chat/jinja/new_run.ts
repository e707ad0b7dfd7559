import { Run } from "../../../src/chat/jinja/run.ts";

/** Returns a run outside a template, for functions that count their steps in one. */
export function newRun(): Run {
  return new Run({ marks: { start: "", end: "" }, now: () => new Date(0) });
}
