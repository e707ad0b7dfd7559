import { Hono } from "hono";
import { z } from "zod";
import type { AppEnv } from "../app_env.ts";
import { asServerError, errorHeaders } from "../error_answer.ts";
import type { LiveSession } from "../live_session.ts";
import { scriptOutcome } from "../script_outcome.ts";
import { ServerError } from "../server_error.ts";
import type { SessionService } from "../session_service.ts";
import { pythonStr } from "../../tools/python_repr.ts";
import { jailedPath } from "./jailed_path.ts";

const PYTHON = { language: "python", version: "3.14.2", aliases: ["py", "python3"] };
const MAX_TIMEOUT_MS = 3_600_000;
const ENCODINGS = ["utf8", "base64", "hex"] as const;

const request = z.object({
  language: z.string("language is required as a string"),
  version: z.string("version is required as a string"),
  files: z.array(
    z.object({
      name: z.string().optional(),
      content: z.string("files[0].content is required as a string"),
      encoding: z.enum(ENCODINGS).catch("utf8"),
    }),
    "files is required as an array",
  ).min(1, "files is required as an array"),
  stdin: z.string("stdin must be a string").default(""),
  args: z.array(z.string(), "args must be an array of strings").default([]),
  run_timeout: z.number("run_timeout must be a number").positive().max(
    MAX_TIMEOUT_MS,
    `run_timeout cannot exceed the configured limit of ${MAX_TIMEOUT_MS}`,
  ).default(3_000),
});

type PistonRequest = z.output<typeof request>;

/** What clients of Piston ask for: `/api/v2/execute` and `/api/v2/runtimes`. The limit of memory is the profile's. */
export function piston(sessions: SessionService): Hono<AppEnv> {
  const app = new Hono<AppEnv>().basePath("/api/v2");
  app.onError((thrown) => {
    const error = asServerError(thrown);
    return Response.json({ message: error.message }, { status: error.status, headers: errorHeaders(error) });
  });
  app.get("/runtimes", (c) => c.json([PYTHON]));
  app.post("/execute", async (c) => {
    const asked = parsed(await c.req.json().catch(() => ({}))); // what is no JSON has no language
    await using session = await sessions.borrow({ owner: c.get("owner"), signal: c.get("signal") });
    const { language, version } = PYTHON;
    return c.json({ run: await run(session, asked, c.get("signal")), language, version });
  });
  return app;
}

function parsed(body: unknown): PistonRequest {
  const { success, data, error } = request.safeParse(body);
  if (!success) throw new ServerError("malformed", error.issues[0]?.message ?? "the body does not fit");
  const { language, version } = data;
  const known = language === PYTHON.language || PYTHON.aliases.includes(language);
  if (known && /^(\*|3(\..*)?)$/.test(version)) return data;
  throw new ServerError("malformed", `${language}-${version} runtime is unknown`);
}

/** What became of the program; a signal stands where its time was over. */
interface PistonRun {
  readonly stdout: string;
  readonly stderr: string;
  /** Both, in the order in which they were written. */
  readonly output: string;
  readonly code: number | null;
  readonly signal: "SIGKILL" | null;
}

async function run(session: LiveSession, asked: PistonRequest, signal: AbortSignal): Promise<PistonRun> {
  const [main, ...others] = asked.files.map(({ name, content, encoding }) => ({
    name,
    bytes: decoded(content, encoding),
  }));
  for (const { name = "", bytes } of others) {
    const path = jailedPath(name);
    if (path === undefined) throw new ServerError("malformed", `files: '${name}' is no name of a file`);
    await session.writeFile(path, bytes);
  }
  const argv = [main?.name ?? "file0.code", ...asked.args];
  await session.exec(`__import__("sys").argv[:] = ${pythonStr(argv)}`, { signal });
  const pieces: string[] = [];
  const result = await session.exec(new TextDecoder().decode(main?.bytes), {
    ...{ timeoutMs: asked.run_timeout, stdin: asked.stdin, signal },
    onOutput: (_, text) => pieces.push(text),
  });
  const { stdout, stderr, exitCode } = scriptOutcome(result);
  const raised = stderr.slice(result.stderr.length);
  const killed = exitCode === null || !result.stateKept;
  return {
    ...{ stdout, stderr, output: pieces.join("") + raised },
    ...{ code: killed ? null : exitCode, signal: killed ? "SIGKILL" : null },
  };
}

function decoded(content: string, encoding: (typeof ENCODINGS)[number]): Uint8Array {
  try {
    if (encoding === "base64") return Uint8Array.fromBase64(content);
    if (encoding === "hex") return Uint8Array.fromHex(content);
  } catch (cause) {
    throw new ServerError("malformed", `files: the content must be ${encoding}`, { cause });
  }
  return new TextEncoder().encode(content);
}
