import { checkArguments } from "../../../src/tools/tool_arguments.ts";
import { tryJsPattern } from "../../../src/tools/schema/python_pattern.ts";

/** Table of `pydantic_checks/oracle.py`. */
export interface VerdictTable {
  readonly texts: readonly unknown[];
  readonly values: readonly unknown[];
  readonly rows: readonly VerdictRow[];
}

interface VerdictRow {
  readonly kind: "pattern" | "format" | "model" | "schema";
  readonly schema: Readonly<Record<string, unknown>>;
  readonly values: "texts" | "values" | readonly unknown[];
  readonly re?: string | null;
  readonly pydantic?: string | null;
  readonly jsonschema?: string | null;
}

/** What a comparison found. */
export interface Comparison {
  /** Number of values that a judge accepted or refused. */
  readonly compared: number;
  /** Values on which the judges differ: Paddock may do either. */
  readonly split: number;
  /** Patterns that JavaScript cannot express. Each value matches them. */
  readonly skipped: readonly string[];
  /** Values that all judges accept and Paddock refuses: `kind schema value`. */
  readonly refused: readonly string[];
  /** Values that no judge accepts and Paddock accepts. */
  readonly accepted: readonly string[];
}

/** Compares what `checkArguments()` accepts with the verdicts of a table. */
export function compareVerdicts({ texts, values, rows }: VerdictTable): Comparison {
  const found = {
    compared: 0,
    split: 0,
    skipped: [] as string[],
    refused: [] as string[],
    accepted: [] as string[],
  };
  for (const row of rows) {
    const { pattern } = row.schema;
    const judges = judgesOf(row);
    if (judges.length === 0) continue;
    if (row.kind === "pattern" && tryJsPattern(String(pattern)) === undefined) {
      found.skipped.push(String(pattern));
      continue;
    }
    const own = row.values === "texts" ? texts : row.values === "values" ? values : row.values;
    for (const [at, value] of own.entries()) {
      found.compared++;
      const verdicts = new Set(judges.map((verdicts) => verdicts[at]));
      const isAccepted = accepts(row.schema, value);
      if (verdicts.size > 1) found.split++;
      else if (verdicts.has("1") !== isAccepted) {
        found[isAccepted ? "accepted" : "refused"].push(
          `${row.kind} ${pattern ?? row.schema.format ?? JSON.stringify(row.schema)} ${
            JSON.stringify(value)
          }`,
        );
      }
    }
  }
  return found;
}

/** jsonschema asserts no format by default, so that only pydantic judges formats. */
function judgesOf({ kind, re, pydantic, jsonschema }: VerdictRow): string[] {
  const judges = {
    pattern: [re, pydantic],
    format: [pydantic],
    model: [pydantic, jsonschema],
    schema: [jsonschema],
  };
  return judges[kind].filter((verdicts) => typeof verdicts === "string");
}

function accepts({ $defs, ...schema }: VerdictRow["schema"], value: unknown): boolean {
  const parameters = { type: "object", properties: { p: schema }, ...($defs !== undefined && { $defs }) };
  const checked = checkArguments({ name: "t", description: "", parameters, run: () => "" }, { p: value });
  if ("broken" in checked) throw new Error(checked.broken);
  return "arguments" in checked;
}
