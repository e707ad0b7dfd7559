import recorded from "./recorded_templates.json" with { type: "text" };
import { parseExact } from "../../../src/numbers/exact_numbers.ts";

/** A template with the text that transformers renders. */
export interface RecordedTemplate {
  readonly template: string;
  /** Variables, whose numbers are as in the file: 1.0 is not 1. */
  readonly variables?: Readonly<Record<string, unknown>>;
  /** The text; null where transformers raises an error. */
  readonly text: string | null;
}

/** Parses JSON with numbers as the text has them. */
export function parseNumbersExactly(json: string): unknown {
  return parseExact(json) ?? JSON.parse(json);
}

/** The file of recorded templates. */
export interface Recording {
  /** Variables of the templates that are `random`. */
  readonly variables: Readonly<Record<string, unknown>>;
  readonly templates: readonly (RecordedTemplate & { readonly random?: true })[];
}

/** Returns the templates that `record_templates.ts` has written. */
export function recordedTemplates(): readonly RecordedTemplate[] {
  const { variables, templates } = parseNumbersExactly(recorded) as Recording;
  return templates.map((one) => one.random ? { ...one, variables } : one);
}
