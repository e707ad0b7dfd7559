import { Hono } from "hono";
import * as z from "zod";
import { mapSequentialByKey } from "../../../async/map_concurrently.ts";
import { MAX_BATCH_ITEMS, MAX_TIMEOUT_SECONDS } from "../../../wire/limits.ts";
import type { AppEnv } from "../../http/context.ts";
import type { LiveSession } from "../../sessions/live_session.ts";
import { ServerError, toPublicError } from "../../http/errors.ts";
import type { SessionService } from "../../sessions/session_service.ts";
import type { AdapterRoutes } from "../peer.ts";
import { detailResponse, readDetailBody } from "../detail_error.ts";
import { type Execution, toExecution } from "../e2b/execution.ts";

/** Body of `/execute_batch`. Other keys are ignored. */
export const batchRequest = z.object({
  scripts: z.array(z.string()).max(MAX_BATCH_ITEMS),
  languages: z.array(z.string()),
  timeout: z.number().positive().max(MAX_TIMEOUT_SECONDS).default(30),
});

/** Result of one script: exactly one field is `null`. */
interface ScriptResult {
  readonly execution: Execution | null;
  readonly exception_str: string | null;
}

/**
 * Serves open-r1's router: `/execute_batch`. Each script runs in its own interpreter; results have the format of E2B's
 * code interpreter.
 */
export function openR1(sessions: SessionService): AdapterRoutes {
  const app = new Hono<AppEnv>();
  app.post("/execute_batch", async (c) => {
    const { scripts, languages, timeout } = await readDetailBody(c, batchRequest);
    if (languages.length !== scripts.length) {
      throw new ServerError("invalid", `languages: ${scripts.length} are required, one per script`);
    }
    const items = scripts.map((code, at) => ({ code, language: languages[at] ?? "" }));
    const owner = c.get("owner");
    const runOne = async ({ code, language }: typeof items[number], signal: AbortSignal) => {
      if (language.toLowerCase() !== "python") return failed(`language '${language}' is not available here`);
      try {
        await using session: LiveSession = await sessions.borrow({ owner, once: true, signal });
        const result = await session.exec(code, { timeoutMs: timeout * 1000, signal, cell: true });
        return { execution: toExecution(result), exception_str: null };
      } catch (thrown) {
        return failed(toPublicError(thrown).message);
      }
    };
    const options = { keyOf: () => undefined, concurrency: sessions.maxSessions, signal: c.get("signal") };
    return c.json(await mapSequentialByKey(items, runOne, options));
  });
  return { routes: app, toErrorResponse: detailResponse };
}

function failed(exception_str: string): ScriptResult {
  return { execution: null, exception_str };
}
