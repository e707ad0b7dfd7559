import type { ExecResult } from "../../src/sandbox/contract/exec.ts";
import { type Answered, Connection } from "../connection.ts";
import { treePrivateBytes } from "../measure.ts";
import { isAlive, processTree } from "../processes.ts";
import { Serving } from "../serving.ts";
import { killAtRandom } from "./chaos.ts";

/** Options of {@linkcode runLifecycle}. */
export interface LifecycleOptions {
  /** Number of leases: programs in a session each. */
  readonly leases: number;
  /** Number of leases after which the server itself is killed, and another server starts. */
  readonly leasesPerServer: number;
  /** Maximum pause between two kills of a sandbox, in milliseconds. */
  readonly pauseMs: number;
  /** Cache directory of base images. @default the command line's */
  readonly cacheDir?: string | undefined;
}

/** Result of {@linkcode runLifecycle}. */
export interface LifecycleReport {
  /** Leases that ended as their programs demand. */
  readonly right: number;
  /** Leases that report a lost sandbox. */
  readonly lost: number;
  /** Leases whose session did not start. */
  readonly failedStarts: readonly string[];
  /** All other responses, as text. */
  readonly wrong: readonly string[];
  /** Requests that were open when the server was killed. */
  readonly cut: number;
  readonly sandboxKills: number;
  readonly serverKills: number;
  /** Processes of killed servers that still ran some seconds later. */
  readonly orphans: number;
  /** Private memory of the last server and its sandboxes at the end, divided by the memory after a tenth of its leases. */
  readonly growth: number;
}

const LANES = 8;
const MAX_SESSIONS = 4;
/** Time within which the processes of a killed server must have ended, in milliseconds. */
const ORPHAN_MS = 10_000;
const CHECK_MS = 100;

/** A program, its limit, and how a right result looks. `{n}` in the texts is the number of the lease. */
interface Ending {
  readonly code: string;
  readonly status: ExecResult["status"];
  readonly timeoutMs?: number;
  /** Standard output, or the exit code. */
  readonly output?: string;
  readonly exitCode?: number;
  /** One of this many leases ends so. */
  readonly oneOf: number;
}

/** A program that leaves threads behind. */
const THREADS = `import threading
for _ in range(4): threading.Thread(target=threading.Event().wait, daemon=True).start()
print({n})`;

/** Ways in which programs end. The first that fits the number of a lease counts; the last fits each. */
const ENDINGS: readonly Ending[] = [
  { oneOf: 499, status: "output", code: "while True: print('{n} ' * 100_000)" },
  { oneOf: 199, status: "crashed", code: "import os\nos._exit(7)", exitCode: 7 },
  { oneOf: 97, status: "memory", code: "kept = [bytearray(1 << 24) for _ in range(1 << 12)]" },
  { oneOf: 47, status: "timeout", code: "left_{n} = 1\nwhile True: pass", timeoutMs: 50 },
  { oneOf: 23, status: "ok", code: THREADS, output: "{n}\n" },
  {
    oneOf: 19,
    status: "ok",
    code: "import socket\nkept = socket.create_server(('localhost', 8000))\nprint({n})",
    output: "{n}\n",
  },
  { oneOf: 17, status: "error", code: "def deeper(n): return deeper(n + 1) + 1\ndeeper({n})" },
  { oneOf: 13, status: "exited", code: "import sys\nsys.exit(3)", exitCode: 3 },
  { oneOf: 7, status: "error", code: "open('left', 'w').write('{n}')\n1 / 0" },
  {
    oneOf: 1,
    status: "ok",
    code: "import os\nprint({n}, os.listdir(), 'left' in globals())",
    output: "{n} [] False\n",
  },
];

/** Runs programs of all endings on servers whose sandboxes are killed at random, and that are killed themselves. */
export async function runLifecycle(options: LifecycleOptions): Promise<LifecycleReport> {
  const total = new Leases();
  let [sandboxKills, serverKills, orphans, growth] = [0, 0, 0, 1];
  while (total.sent < options.leases) {
    const last = Math.min(options.leases, total.sent + options.leasesPerServer);
    const isLast = last === options.leases;
    const generation = await playServer(total, { ...options, last, isLast });
    sandboxKills += generation.kills;
    orphans += generation.orphans;
    if (isLast) growth = generation.growth;
    else serverKills++;
  }
  const { right, lost, failedStarts, wrong, cut } = total;
  return { right, lost, failedStarts, wrong, cut, sandboxKills, serverKills, orphans, growth };
}

interface Generation extends LifecycleOptions {
  /** Number of the lease with which this server ends. */
  readonly last: number;
  /** True for the last server, which ends by SIGTERM. The others are killed while requests are open. */
  readonly isLast: boolean;
}

async function playServer(
  total: Leases,
  { last, isLast, pauseMs, cacheDir }: Generation,
): Promise<{ kills: number; orphans: number; growth: number }> {
  await using serving = await Serving.startWith(
    cacheDir === undefined ? {} : { PADDOCK_CACHE_DIR: cacheDir },
    ["--max-sessions", String(MAX_SESSIONS)],
  );
  const first = total.sent;
  let isOver = false;
  let settled: Promise<number> | undefined;
  const killing = killAtRandom(serving.child.pid, { goOn: () => !isOver, pauseMs });
  const lanes = Array.from({ length: LANES }, async () => {
    using connection = new Connection(serving.url);
    while (!isOver) {
      if (settled === undefined && total.sent - first >= (last - first) / 10) settled = privateBytes(serving);
      if (total.sent >= last) return;
      await total.lease(connection, () => isOver);
    }
  });
  if (!isLast) {
    while (total.sent < last) await new Promise((resolve) => setTimeout(resolve, 1));
    isOver = true;
    const orphans = await killServer(serving);
    await Promise.all(lanes);
    return { kills: (await killing).kills, orphans, growth: 1 };
  }
  await Promise.all(lanes);
  isOver = true;
  const { kills } = await killing;
  const tree = await processTree(serving.child.pid);
  const growth = await privateBytes(serving) / (await settled ?? NaN);
  await serving.end("SIGTERM");
  return { kills, orphans: await countAlive(tree), growth };
}

async function privateBytes({ child }: Serving): Promise<number> {
  return await treePrivateBytes(child.pid);
}

/** Kills a server, and returns the number of its processes that outlive the server. */
async function killServer(serving: Serving): Promise<number> {
  const tree = await processTree(serving.child.pid);
  await serving.end("SIGKILL");
  return await countAlive(tree);
}

async function countAlive(pids: readonly number[]): Promise<number> {
  const until = performance.now() + ORPHAN_MS;
  for (;;) {
    const alive = (await Promise.all(pids.map(isAlive))).filter(Boolean).length;
    if (alive === 0 || performance.now() > until) return alive;
    await new Promise((resolve) => setTimeout(resolve, CHECK_MS));
  }
}

/** Counts of the leases of all servers. */
class Leases {
  sent = 0;
  right = 0;
  lost = 0;
  cut = 0;
  readonly failedStarts: string[] = [];
  readonly wrong: string[] = [];

  /** Runs a program in a session of its own, and checks how the program ended. */
  async lease(connection: Connection, isOver: () => boolean): Promise<void> {
    const number = ++this.sent;
    const ending = ENDINGS.find(({ oneOf }) => number % oneOf === 0);
    if (ending === undefined) throw new Error(`No ending fits lease ${number}`);
    const code = ending.code.replaceAll("{n}", String(number));
    const { timeoutMs = 20_000 } = ending;
    const answered = await connection.post<ExecResult>("/v1/exec", { code, timeoutMs }).catch(String);
    if (typeof answered === "string") {
      if (isOver()) this.cut++;
      else this.wrong.push(`lease ${number}: ${answered}`);
    } else this.#count(answered, { ending, number });
  }

  #count(
    { status, body }: Answered<ExecResult>,
    { ending, number }: { ending: Ending; number: number },
  ): void {
    const text = `lease ${number}, ${ending.status} wanted: ${status} ${JSON.stringify(body)?.slice(0, 300)}`;
    if (status === 503) this.lost++;
    else if (status !== 200 || body === undefined) this.failedStarts.push(text);
    else if (isRight(body, { ending, number })) this.right++;
    else if (body.status === "crashed") this.lost++;
    else this.wrong.push(text);
  }
}

function isRight(result: ExecResult, { ending, number }: { ending: Ending; number: number }): boolean {
  if (result.status !== ending.status) return false;
  if (ending.exitCode !== undefined && (!("exitCode" in result) || result.exitCode !== ending.exitCode)) {
    return false;
  }
  return ending.output === undefined || result.stdout === ending.output.replaceAll("{n}", String(number));
}
