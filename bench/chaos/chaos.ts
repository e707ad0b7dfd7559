import { Connection } from "../connection.ts";
import { runLoad } from "../load.ts";
import { isAlive } from "../processes.ts";
import { askCode, isHonest, isRight } from "../run_code.ts";
import { Serving } from "../serving.ts";
import { CountingSession } from "./counting_session.ts";
import { killAtRandom } from "./killer.ts";
import { Tally } from "./tally.ts";

/** How a server is harmed. */
export interface ChaosOptions {
  /** Whether there is to be another kill, after so many. */
  readonly goOn: (kills: number) => boolean;
  /** The longest pause between two kills, in milliseconds. */
  readonly pauseMs: number;
  /** Programs that are to be answered after the last kill. */
  readonly after: number;
  /** Where base images are cached; as the command line decides unless given. */
  readonly cacheDir?: string | undefined;
}

/** What a server did whose sandboxes were killed. */
export interface ChaosReport {
  readonly kills: number;
  readonly during: Tally;
  readonly after: Tally;
  /** Processes that were there when the server had ended. */
  readonly left: number;
  /** What the server exited with, when it was told to stop. */
  readonly exitCode: number;
}

const PROGRAM_LANES = 8;
const SESSION_LANES = 3;
/** Of which programs have the rest. */
const MAX_SESSIONS = 6;

/** Kills the sandboxes of a `paddock serve` at random, while programs and sessions are checked answer for answer. */
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

/** Programs of some milliseconds, so that kills meet them, each of which alone prints its number. */
async function loadPrograms(url: string, tally: Tally, goOn: (sent: number) => boolean): Promise<void> {
  const { errors } = await runLoad({
    url,
    connections: PROGRAM_LANES,
    goOn,
    async ask(connection, number) {
      const code = `total = sum(i % 7 for i in range(200_000))\nprint(${number} * total)`;
      const answer = await askCode(connection, code);
      if (isRight(answer, `${number * TOTAL}\n`)) tally.right++;
      else if (isHonest(answer)) tally.honest++;
      else tally.wrong.push(JSON.stringify(answer));
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
