import { Hono } from "hono";
import type { ExecResult } from "../../sandbox/exec.ts";
import type { AppEnv } from "../app_env.ts";
import { toErrorHeaders, toServerError } from "../error_answer.ts";
import type { LiveSession } from "../live_session.ts";
import { ServerError } from "../server_error.ts";
import type { SessionService } from "../session_service.ts";
import { jailPath, MAIN, runScript, toScriptOutcome } from "./adapter.ts";
import { parsePistonRequest, type PistonRequest, RUNTIME } from "./piston/request.ts";

/** Serves Piston: `/api/v2/execute` and `/api/v2/runtimes`. The profile's memory limit applies. */
export function piston(sessions: SessionService): Hono<AppEnv> {
  const app = new Hono<AppEnv>().basePath("/api/v2");
  app.onError((thrown) => {
    const error = toServerError(thrown);
    return Response.json({ message: error.message }, {
      status: error.status,
      headers: toErrorHeaders(error),
    });
  });
  app.get("/runtimes", (c) => c.json([RUNTIME]));
  app.post("/execute", async (c) => {
    if (!c.req.header("content-type")?.startsWith("application/json")) {
      throw new ServerError("unsupported", "requests must be of type application/json");
    }
    const request = parsePistonRequest(await c.req.json().catch(() => ({}))); // reported as a missing language
    await using session = await sessions.borrow({ owner: c.get("owner"), signal: c.get("signal") });
    const { language, version } = RUNTIME;
    return c.json({ run: await run(session, request, c.get("signal")), language, version });
  });
  return app;
}

/** Result of a program. `signal` is set after a timeout or a crash. */
interface PistonRun {
  readonly stdout: string;
  readonly stderr: string;
  /** Both streams in the order in which they were written. */
  readonly output: string;
  readonly code: number | null;
  readonly signal: "SIGKILL" | null;
  /** Reason of a failure, as a sentence and as Piston's code. */
  readonly message: string | null;
  readonly status: "RE" | "SG" | "TO" | null;
  /** Milliseconds. */
  readonly wall_time: number;
  /** Not measured. */
  readonly cpu_time: null;
  readonly memory: null;
}

async function run(session: LiveSession, request: PistonRequest, signal: AbortSignal): Promise<PistonRun> {
  const { main, others, args, stdin, runTimeoutMs: timeoutMs } = request;
  for (const { name, bytes } of others) {
    const path = jailPath(name);
    if (path === undefined) throw new ServerError("malformed", `files: '${name}' is not a valid file name`);
    await session.writeFile(path, bytes);
  }
  const pieces: string[] = [];
  const result = await runScript(session, new TextDecoder().decode(main.bytes), {
    timeoutMs,
    stdin,
    signal,
    argv: [jailPath(main.name) ?? MAIN, ...args],
    onOutput: (_, text) => pieces.push(text),
  });
  const { stdout, stderr, exitCode } = toScriptOutcome(result);
  const raised = stderr.slice(result.stderr.length);
  return {
    stdout,
    stderr,
    output: pieces.join("") + raised,
    ...exitFields(result, exitCode),
    wall_time: Math.round(result.durationMs),
    cpu_time: null,
    memory: null,
  };
}

function exitFields(
  { status, stateKept }: ExecResult,
  exitCode: number | null,
): Pick<PistonRun, "code" | "signal" | "message" | "status"> {
  const killed = { code: null, signal: "SIGKILL" } as const;
  if (exitCode === null) return { ...killed, message: "Time limit exceeded (wall clock)", status: "TO" };
  if (!stateKept && status !== "ok" && status !== "exited") {
    return { ...killed, message: "Caught fatal signal 9", status: "SG" };
  }
  if (exitCode === 0) return { code: 0, signal: null, message: null, status: null };
  return { code: exitCode, signal: null, message: `Exited with error status ${exitCode}`, status: "RE" };
}
