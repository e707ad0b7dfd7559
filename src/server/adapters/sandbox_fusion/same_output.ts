const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/;
const TOLERANCE = 1e-5;

/** Compares output line by line, ignoring case and outer blanks; numbers may differ by a relative 1e-5. */
export function isSameOutput(printed: string, expected: string): boolean {
  const [lines, wanted] = [linesOf(printed), linesOf(expected)];
  return lines.length === wanted.length && lines.every((line, at) => sameLine(line, wanted[at] ?? ""));
}

function linesOf(text: string): string[] {
  return text.trim().split("\n").map((line) => line.trim().toLowerCase());
}

function sameLine(line: string, wanted: string): boolean {
  if (line === wanted) return true;
  if (!NUMBER.test(line) || !NUMBER.test(wanted)) return false;
  const [found, expected] = [Number(line), Number(wanted)];
  return Math.abs(found - expected) / Math.max(Math.abs(expected), 1e-10) < TOLERANCE;
}
