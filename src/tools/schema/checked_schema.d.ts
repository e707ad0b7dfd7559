// The part of checked_schema.ts that tools use. See docs/decisions/hand_written_types.md.
import type { JsonSchema } from "../tool.ts";

export interface SchemaError {
  readonly location: string;
  readonly keyword: string;
  readonly message: string;
}

export function checkSchema(schema: JsonSchema, value: unknown): SchemaError[];
