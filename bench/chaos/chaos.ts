import type { ExecResult } from "../../src/sandbox/contract/exec.ts";
import { type Answered, Connection } from "../connection.ts";
import { runLoad } from "../load.ts";
import { childrenOf, isAlive } from "../processes.ts";
import { askCode, isHonest, isRight } from "../run_code.ts";
import { Serving } from "../serving.ts";

/** Options of {@linkcode runChaos}. */
export interface ChaosOptions {
  /** True if another kill follows after this many. */
  readonly goOn: (kills: number) => boolean;
  /** Maximum pause between two kills, in milliseconds. */
  readonly pauseMs: number;
  /** Number of programs to run after the last kill. */
  readonly after: number;
  /** Cache directory of base images. @default the command line's */
  readonly cacheDir?: string | undefined;
}

/** Result of {@linkcode runChaos}. */
export interface ChaosReport {
  readonly kills: number;
  readonly during: Tally;
  readonly after: Tally;
  /** Number of sandbox processes that still ran after the server had exited. */
  readonly left: number;
  /** Exit code of the server after SIGTERM. */
  readonly exitCode: number;
}

const PROGRAM_LANES = 8;
const SESSION_LANES = 3;
/** Maximum sessions of the server; programs use those that session lanes do not. */
const MAX_SESSIONS = 6;

/** Kills the sandboxes of a `paddock serve` at random, while it checks every response to programs and sessions. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { cacheDir, goOn, pauseMs } = options;
  await using serving = await Serving.startWith(
    { ...cacheDir !== undefined && { PADDOCK_CACHE_DIR: cacheDir } },
    ["--max-sessions", String(MAX_SESSIONS)],
  );
  const { url, child } = serving;
  const during = new Tally();
  let killing = true;
  const loads = Promise.all([
    loadPrograms(url, during, () => killing),
    ...Array.from({ length: SESSION_LANES }, () => loadSession(url, during, () => killing)),
  ]);
  const killed = await killAtRandom(child.pid, { goOn, pauseMs }).finally(() => killing = false);
  await loads;
  const after = new Tally();
  await loadPrograms(url, after, (sent) => after.right < options.after && sent < 4 * options.after);
  const { code: exitCode } = await serving.end("SIGTERM");
  const alive = await Promise.all([...killed.seen].map(isAlive));
  return { kills: killed.kills, during, after, left: alive.filter(Boolean).length, exitCode };
}

/** Sends programs of some milliseconds, so that kills hit them. Each prints a different number. */
async function loadPrograms(url: string, tally: Tally, goOn: (sent: number) => boolean): Promise<void> {
  const { errors } = await runLoad({
    url,
    connections: PROGRAM_LANES,
    goOn,
    async ask(connection, number) {
      const code = `total = sum(i % 7 for i in range(200_000))\nprint(${number} * total)`;
      const response = await askCode(connection, code);
      if (isRight(response, `${number * TOTAL}\n`)) tally.right++;
      else if (isHonest(response)) tally.honest++;
      else tally.wrong.push(JSON.stringify(response));
    },
  });
  tally.wrong.push(...errors.map(String));
}

const TOTAL = Array.from({ length: 200_000 }, (_, i) => i % 7).reduce((sum, i) => sum + i, 0);

async function loadSession(url: string, tally: Tally, goOn: () => boolean): Promise<void> {
  using connection = new Connection(url);
  try {
    const session = await CountingSession.open(connection, tally);
    while (goOn()) await session.count(tally);
  } catch (error) {
    tally.wrong.push(String(error));
  }
}

/** Result of {@linkcode killAtRandom}. */
export interface Killed {
  kills: number;
  /** Ids of all child processes that were found. */
  readonly seen: Set<number>;
}

/** Kills children of a process, one at a time, after random pauses up to `pauseMs`. */
export async function killAtRandom(
  parent: number,
  options: { goOn: (kills: number) => boolean; pauseMs: number },
): Promise<Killed> {
  const killed: Killed = { kills: 0, seen: new Set() };
  while (options.goOn(killed.kills)) {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * options.pauseMs));
    const children = await childrenOf(parent);
    for (const child of children) killed.seen.add(child);
    const victim = children[Math.floor(Math.random() * children.length)];
    if (victim !== undefined && kill(victim)) killed.kills++;
  }
  return killed;
}

function kill(pid: number): boolean {
  try {
    Deno.kill(pid, "SIGKILL");
    return true;
  } catch {
    return false; // it has exited already
  }
}

/** A session by `/v1` that counts its programs in Python, to detect lost or foreign state. */
class CountingSession {
  readonly #connection: Connection;
  readonly #path: string;
  readonly #token = crypto.randomUUID();
  #count = 0;
  /** True from the report of a lost interpreter to the report of its replacement. */
  #isLost = false;

  private constructor(connection: Connection, id: string) {
    this.#connection = connection;
    this.#path = `/v1/sessions/${id}/exec`;
  }

  /** Opens a session, and retries while the server reports that its sandbox failed. */
  static async open(connection: Connection, tally: Tally): Promise<CountingSession> {
    for (;;) {
      const { status, body } = await connection.post<{ id: string }>("/v1/sessions", {});
      if (status === 201 && body) return new CountingSession(connection, body.id);
      if (status !== 503) throw new Error(`Cannot open session: ${status} ${JSON.stringify(body)}`);
      tally.honest++;
    }
  }

  /** Runs a program that increments the count, and checks the response. */
  async count(tally: Tally): Promise<void> {
    const code = `count = globals().get("count", 0) + 1\nprint("${this.#token}", count)`;
    const response = await this.#connection.post<ExecResult>(this.#path, { code });
    const { status, body } = response;
    if (status === 503 || status === 200 && body?.status === "crashed" && !body.stateKept) this.#lose(tally);
    else if (this.#isNext(response)) this.#advance(body?.restarted, tally);
    else tally.wrong.push(`at ${this.#count}: ${JSON.stringify(response)}`);
  }

  #lose(tally: Tally): void {
    tally.honest++;
    this.#isLost = true;
    this.#count = 0;
  }

  /** True if the count is the next one, or 1 from an interpreter that reports a restart. */
  #isNext({ status, body }: Answered<ExecResult>): boolean {
    if (status !== 200 || body?.status !== "ok" || this.#isLost && !body.restarted) return false;
    return body.stdout === `${this.#token} ${body.restarted ? 1 : this.#count + 1}\n`;
  }

  #advance(restarted: true | undefined, tally: Tally): void {
    if (restarted && !this.#isLost && this.#count > 0) tally.honest++;
    else tally.right++;
    this.#isLost = false;
    this.#count = restarted ? 1 : this.#count + 1;
  }
}

/** Counts of the responses of a server whose sandboxes are killed. */
export class Tally {
  /** Number of right responses. */
  right = 0;
  /** Number of responses that report a lost sandbox. */
  honest = 0;
  /** All other responses, as text. */
  readonly wrong: string[] = [];

  get all(): number {
    return this.right + this.honest + this.wrong.length;
  }
}
