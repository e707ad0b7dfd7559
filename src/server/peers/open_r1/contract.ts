import * as z from "zod";
import { MAX_BATCH_ITEMS, MAX_TIMEOUT_SECONDS } from "../../../wire/limits.ts";
import { nullOr } from "../../../wire/schema.ts";
import { execution } from "../e2b/contract.ts";

/** Body of `/execute_batch`. Other keys are ignored. */
export const batchRequest = z.object({
  scripts: z.array(z.string()).max(MAX_BATCH_ITEMS),
  languages: z.array(z.string()),
  timeout: z.number().positive().max(MAX_TIMEOUT_SECONDS).default(30),
}).meta({ id: "OpenR1BatchRequest" });

/** Result of a script: exactly one field is `null`. */
export const scriptResult = z.object({ execution: nullOr(execution), exception_str: z.string().nullable() })
  .meta({ id: "OpenR1ScriptResult" });
export type ScriptResult = z.output<typeof scriptResult>;
