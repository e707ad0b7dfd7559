import { Hono } from "hono";
import { mapSequentialByKey } from "../../../async/map_concurrently.ts";
import type { AppEnv } from "../../http/context.ts";
import type { LiveSession } from "../../sessions/live_session.ts";
import { ServerError, toPublicError } from "../../http/http_errors.ts";
import type { SessionService } from "../../sessions/session_service.ts";
import type { Peer } from "../peer.ts";
import { detailResponse, readDetailBody } from "../detail_error.ts";
import { toExecution } from "../e2b/code/execution.ts";
import { batchRequest, type ScriptResult } from "./contract.ts";
import { OPEN_R1_OPERATIONS } from "./operations.ts";

/**
 * Serves open-r1's router: `/execute_batch`. Each script runs in a separate interpreter; results have the format of
 * E2B's code interpreter.
 */
export function openR1(sessions: SessionService): Peer {
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
  return {
    name: "open-r1",
    description: "Route of open-r1's router",
    routes: [{ routes: app, toErrorResponse: detailResponse }],
    operations: OPEN_R1_OPERATIONS,
  };
}

function failed(exception_str: string): ScriptResult {
  return { execution: null, exception_str };
}
