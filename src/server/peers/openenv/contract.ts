import * as z from "zod";
import { MAX_TIMEOUT_SECONDS } from "../../../wire/limits.ts";
import type { OpenEnvKind } from "./env_kind.ts";

/** Returns the schema of the body of `/step`. Other keys are ignored. */
export function stepRequest<Action>(
  { action }: Pick<OpenEnvKind<Action>, "action">,
): z.ZodType<{ action: Action; timeout_s?: number | null | undefined }> {
  return z.looseObject({
    action,
    timeout_s: z.number().positive().max(MAX_TIMEOUT_SECONDS).nullish(),
    request_id: z.string().max(255).nullish(),
  }).meta({ id: "OpenEnvStep" });
}

/** Returns the schema of the response of a reset or a step. */
export function stepResult({ observation }: Pick<OpenEnvKind, "observation">): z.ZodType {
  return z.object({ observation, reward: z.number().nullable(), done: z.boolean() })
    .meta({ id: "OpenEnvResult" });
}

/** Response of `/metadata`. */
export const metadata = z.object({
  name: z.string(),
  description: z.string(),
  readme_content: z.null(),
  version: z.string(),
  author: z.null(),
  documentation_url: z.null(),
}).meta({ id: "OpenEnvMetadata" });
export type Metadata = z.output<typeof metadata>;

/** Response of `/schema`: JSON Schemas. */
export const schemas = z.object({
  action: z.looseObject({}),
  observation: z.looseObject({}),
  state: z.looseObject({}),
}).meta({ id: "OpenEnvSchemas" });
