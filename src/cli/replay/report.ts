import { escapeJsonControls, escapeLine } from "../../terminal_text.ts";
import type { Trajectory } from "../../rollout/trajectory.ts";
import { firstDifference, type ReplayDifference } from "./compare.ts";
import type { ExactComparison } from "./exact.ts";

/** What is printed of the replay of an episode. */
export interface ReplayReport {
  readonly isSame: boolean;
  readonly text: string;
  readonly json: string;
}

/** Returns the report of a comparison of tool results. */
export function normalReport(
  trajectory: Trajectory,
  row: number,
  differences: readonly ReplayDifference[],
): ReplayReport {
  return {
    isSame: differences.length === 0,
    text: toText(trajectory, row, differences),
    json: toJson(trajectory, row, differences),
  };
}

/** Returns the report of a comparison of digests. */
export function exactReport(
  { task, sample }: Trajectory,
  row: number,
  { compared, stoppedAtInexact, difference }: ExactComparison,
): ReplayReport {
  const name = `row ${row}, task ${escapeLine(task.id)}`;
  const rest = stoppedAtInexact ? ", and the next is inexact" : "";
  const count = `${compared} ${compared === 1 ? "exec" : "execs"} exactly the same${rest}`;
  const line = { row, task: task.id, sample, same: !difference, compared, stoppedAtInexact, difference };
  const json = `${escapeJsonControls(JSON.stringify(line))}\n`;
  if (!difference) return { isSame: true, text: `${name}: ${count}\n`, json };
  const { turn, call, text, recorded, replayed } = difference;
  const lines = text
    ? [`  recorded  ${escapeLine(text.recorded)}`, `  replayed  ${escapeLine(text.replayed)}`]
    : [`  recorded  ${recorded}`, `  replayed  ${replayed ?? "(no exec)"}`];
  const place = text ? `at byte ${text.byte} of the results` : "in files, or in what the model does not read";
  const head = `${name}: ${count}; turn ${turn}, call ${call} differs ${place}`;
  return { isSame: false, text: [head, ...lines, ""].join("\n"), json };
}

function toText(
  { task, seed, toolResults }: Trajectory,
  row: number,
  differences: readonly ReplayDifference[],
): string {
  const count = `${toolResults.length} ${toolResults.length === 1 ? "result" : "results"}`;
  const name = `row ${row}, task ${escapeLine(task.id)}`;
  if (differences.length === 0) return `${name}: ${count}, all the same\n`;
  const hint = seed === undefined ? " (the row has no seed: random values differ)" : "";
  const lines = differences.flatMap((difference) => {
    const [recorded, replayed] = firstDifference(difference).map((line) =>
      escapeLine(line.slice(0, MAX_SHOWN))
    );
    const { turn, call } = difference;
    const place = call === undefined ? "" : `, block ${call.block}, call ${call.call}`;
    return [`  turn ${turn}${place}`, `    recorded  ${recorded}`, `    replayed  ${replayed}`];
  });
  return [
    `${name}: ${count}, ${differences.length} ${
      differences.length === 1 ? "turn differs" : "turns differ"
    }${hint}`,
    ...lines,
    "",
  ].join("\n");
}

/** Characters of a line that are shown, and of a text in JSON. */
const MAX_SHOWN = 200;
const MAX_JSON = 10_000;

function toJson({ task, sample }: Trajectory, row: number, differences: readonly ReplayDifference[]): string {
  const shortened = differences.map(({ turn, call, ...texts }) => ({
    turn,
    ...shortTexts(texts),
    ...(call && { call: { ...call, ...shortTexts(call) } }),
  }));
  const line = { row, task: task.id, sample, same: differences.length === 0, differences: shortened };
  return `${escapeJsonControls(JSON.stringify(line))}\n`;
}

function shortTexts({ recorded, replayed }: Pick<ReplayDifference, "recorded" | "replayed">) {
  return { recorded: recorded.slice(0, MAX_JSON), replayed: replayed.slice(0, MAX_JSON) };
}
