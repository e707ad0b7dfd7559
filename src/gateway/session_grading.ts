import { History } from "../history.ts";
import type { Grader } from "../rewards/grader.ts";
import type { GraderPool } from "../rewards/worker/grader_pool.ts";
import type { ExecResult } from "../sandbox/contract/exec.ts";
import { gradeOrThrow, type Graders, guardGrader } from "../server/graders.ts";
import { ServerError } from "../server/http/http_errors.ts";
import type { KeyedSandbox } from "../server/peers/e2b/keyed_sandboxes.ts";
import type { GatewayGrader } from "../wire/v1_gateway.ts";
import type { LiveSession } from "./live_session.ts";
import type { SessionEnd } from "./session/session_row.ts";

/** A grade by a grader of the gateway. */
export interface NamedGrade {
  readonly grader: string;
  /** File of the sandbox whose text is graded in place of the last reply. A file `.py` is graded as a program. */
  readonly file?: string | undefined;
}

/** A grade by a program that the agent never sees. */
export interface TestGrade {
  /**
   * Python program. Its last value is the score, from a number or a boolean; a program without a value passes with 1 if it
   * raises nothing.
   */
  readonly code: string;
  /** Files that replace files of the sandbox before the program runs. */
  readonly files?: Readonly<Record<string, Uint8Array>> | undefined;
  readonly timeoutMs?: number | undefined;
}

/** Options of {@linkcode SessionGrading}. */
export interface SessionGradingOptions {
  readonly graders?: Graders | undefined;
  readonly graderPool?: GraderPool | undefined;
}

const TESTS_TIMEOUT_MS = 60_000;
/** Characters of the output of tests that their owner gets. */
const OUTPUT_CHARACTERS = 4_096;

/** Scores sessions by graders, and by tests of what an agent left in its sandbox. */
export class SessionGrading {
  readonly #options: SessionGradingOptions;

  constructor(options: SessionGradingOptions) {
    this.#options = options;
  }

  /**
   * Checks the grader of a session that is opened.
   *
   * @throws {ServerError} `invalid` if there is no such grader, or if it needs a sandbox that the session has not.
   */
  requireGrader(grader: GatewayGrader, { hasSandbox }: { hasSandbox: boolean }): void {
    if ("grader" in grader) this.#requireNamed(grader.grader);
    if (hasSandbox || ("grader" in grader && grader.file === undefined)) return;
    throw new ServerError("invalid", "grader: tests and a file need a sandbox: open the session with one");
  }

  #requireNamed(name: string): { make: () => Grader; pool: GraderPool } {
    const { graders = new Map(), graderPool: pool } = this.#options;
    const make = graders.get(name);
    if (make !== undefined && pool !== undefined) return { make, pool };
    throw new ServerError("invalid", `grader must be one of ${[...graders.keys()].join(", ")}`);
  }

  /**
   * Returns the score of a grader, which reads the chat of the session's first row.
   *
   * @throws {ServerError} `invalid` if there is no such grader; `conflict` if the session has no turn, has no sandbox or has lost it;
   * `not_found` if the sandbox has no such file.
   */
  async grade(
    live: LiveSession,
    { grader: name, file }: NamedGrade,
    { signal }: { signal: AbortSignal },
  ): Promise<SessionEnd> {
    const { make, pool } = this.#requireNamed(name);
    live.requireSandbox();
    const [row] = live.session.results();
    if (row === undefined) throw new ServerError("conflict", `The session ${live.id} has no turn`);
    const left = file === undefined ? [] : [await readReply(sandboxOf(live), file, signal)];
    const history = History.fromChats([...row.messages, ...left]);
    const grader = guardGrader(make(), { pool, owner: live.owner });
    const { score, parts, reason } = await gradeOrThrow(grader, { task: live.session.task, history, signal });
    return toEnd(score, { parts: { [grader.name]: score, ...parts }, reason });
  }

  /**
   * Returns the score of a program that runs in a fresh interpreter with the files that the agent left.
   *
   * @throws {ServerError} `conflict` if the session has no sandbox; `invalid` if the program is no Python, or its value
   * no score.
   */
  async test(
    live: LiveSession,
    { code, files = {}, timeoutMs = TESTS_TIMEOUT_MS }: TestGrade,
    { signal }: { signal: AbortSignal },
  ): Promise<{ end: SessionEnd; output: string }> {
    const copy = await sandboxOf(live).copyFiles(signal);
    await using session = copy.session;
    await requireCompiles(session, code, signal);
    for (const [path, contents] of Object.entries(files)) {
      await session.files.write(path.startsWith("/") ? path : `${copy.folder}/${path}`, contents, signal);
    }
    const result = await session.exec(code, { timeoutMs, signal });
    const score = scoreOf(result);
    const output = `${result.stdout}${result.stderr}${errorOf(result)}`.slice(-OUTPUT_CHARACTERS);
    return { end: toEnd(score, { parts: { tests: score } }), output };
  }
}

function toEnd(
  reward: number | null,
  { parts, reason }: { parts: Readonly<Record<string, number | null>>; reason?: string | undefined },
): SessionEnd {
  return { reward, rewardParts: parts, isComplete: true, ...(reason !== undefined && { unscored: reason }) };
}

function sandboxOf(live: LiveSession): KeyedSandbox {
  const { id, sandbox } = live;
  live.requireSandbox();
  if (sandbox !== undefined && !sandbox.session.ended) return sandbox;
  throw new ServerError("conflict", `The session ${id} has no sandbox`);
}

/** Returns the reply that a file stands for. */
async function readReply(sandbox: KeyedSandbox, file: string, signal: AbortSignal) {
  const text = new TextDecoder().decode(await sandbox.readFile(file, signal));
  if (!file.endsWith(".py")) return { role: "assistant", content: text };
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([marks]) => marks.length));
  const fence = "`".repeat(longest + 1);
  return { role: "assistant", content: `${fence}python\n${text}\n${fence}` };
}

/** Tests that are no Python would score 0 whatever the agent did. */
async function requireCompiles(
  session: KeyedSandbox["session"],
  code: string,
  signal: AbortSignal,
): Promise<void> {
  const check = `compile(tests, "tests", "exec", dont_inherit=True, flags=0x2000)\nNone`; // top-level await
  const result = await session.exec(check, { inputs: { tests: code }, signal });
  if (result.status !== "ok") throw new ServerError("invalid", `tests.code: ${errorOf(result).slice(-500)}`);
}

/** Returns the score of tests: a failure of any kind is 0. */
function scoreOf(result: ExecResult): number {
  if (result.status !== "ok") return 0;
  const { value, valueJson } = result;
  if (value === undefined) return 1;
  if (typeof valueJson === "number" || typeof valueJson === "boolean") return Number(valueJson);
  throw new ServerError(
    "invalid",
    `tests.code: the last value must be a number: found ${value.slice(0, 100)}`,
  );
}

function errorOf(result: ExecResult): string {
  return "error" in result ? result.error.traceback : "";
}
