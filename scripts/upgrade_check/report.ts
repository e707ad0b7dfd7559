import { countTests, formatDuration } from "../../tests/run_suite.ts";
import { escapeControls } from "../../src/terminal_text.ts";

/** A test that failed. */
export interface Failure {
  readonly test: string;
  readonly message: string;
}

/** Outcome of a step: the installation, the types, the image, or the tests of a subject. */
export interface Outcome {
  readonly step: string;
  readonly passed: number;
  readonly failed: number;
  readonly durationMs: number;
  readonly failures: readonly Failure[];
}

/** Failures that the report shows of each step. */
const MAX_SHOWN = 3;
const MAX_MESSAGE = 400;

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

/**
 * Returns what a JUnit report says about the tests of a step.
 *
 * @param output Output of the tests. Its end is the message if they failed without a test that did, as when a file
 * cannot be loaded.
 */
export function outcomeOf(
  step: string,
  { junit, output, success, durationMs }: {
    junit: string;
    output: string;
    success: boolean;
    durationMs: number;
  },
): Outcome {
  const { passed, failed } = countTests(junit);
  const failures = findFailures(junit);
  if (!success && failures.length === 0) {
    return { step, passed, failed: 1, durationMs, failures: [{ test: step, message: lastLines(output) }] };
  }
  return { step, passed, failed, durationMs, failures };
}

function findFailures(junit: string): Failure[] {
  const cases = junit.matchAll(/<testcase\b[^>]*?\bname="([^"]*)"[^>]*?(?:\/>|>(.*?)<\/testcase>)/gs);
  return [...cases].flatMap(([, name = "", body = ""]) => {
    const [, message] = /<(?:failure|error)\b[^>]*?\bmessage="([^"]*)"/s.exec(body) ?? [];
    return message === undefined ? [] : [{ test: decode(name), message: decode(message) }];
  });
}

function decode(xml: string): string {
  return xml.replaceAll(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (whole, decimal, hex, name) => {
    if (decimal) return String.fromCodePoint(Number(decimal));
    return hex ? String.fromCodePoint(Number.parseInt(hex, 16)) : ENTITIES[name] ?? whole;
  });
}

/** Returns the last lines of a text, without the colours of a terminal. */
export function lastLines(text: string): string {
  // deno-lint-ignore no-control-regex -- this is what the colours begin with
  const plain = text.replaceAll(/\x1b\[[\d;]*m/g, "").trim();
  return plain.split("\n").slice(-8).join("\n");
}

/** Formats the outcomes as a table, with the first failures of each step below it. */
export function formatReport(outcomes: readonly Outcome[]): string {
  const rows = outcomes.map(({ step, passed, failed, durationMs }) => [
    step,
    String(passed),
    String(failed),
    formatDuration(durationMs),
    failed > 0 ? "broke" : "ok",
  ]);
  const table = [["subject", "passed", "failed", "time", ""], ...rows];
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ??
    [];
  const lines = table.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "));
  return [...lines.map((line) => line.trimEnd()), ...outcomes.flatMap(formatFailures)].join("\n") + "\n";
}

function formatFailures({ step, failures }: Outcome): string[] {
  if (failures.length === 0) return [];
  const shown = failures.slice(0, MAX_SHOWN).flatMap(({ test, message }) => [
    `  ${escapeControls(test)}`,
    ...shorten(message).split("\n").map((line) => `    ${escapeControls(line)}`),
  ]);
  const more = failures.length - MAX_SHOWN;
  return ["", `${step}:`, ...shown, ...(more > 0 ? [`  and ${more} more`] : [])];
}

function shorten(message: string): string {
  // deno-lint-ignore no-control-regex -- this is what the colours begin with
  const plain = message.replaceAll(/\x1b\[[\d;]*m/g, "").trim();
  return plain.length <= MAX_MESSAGE ? plain : `${plain.slice(0, MAX_MESSAGE)} …`;
}
