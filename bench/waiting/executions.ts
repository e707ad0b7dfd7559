import { privateBytes } from "../measure.ts";
import { Serving } from "../serving.ts";

const OPENING_LANES = 4;

const TOOL = {
  name: "ask",
  description: "Asks a person.",
  parameters: { type: "object", properties: { q: { type: "string" } }, required: ["q"] },
};

/** Returns a program whose calls depend on its random numbers and on all earlier answers. */
export function askingProgram(calls: number): string {
  return `
import hashlib, random, uuid
from paddock import tools
seen = []
for n in range(${calls}):
    seen.append(tools.ask(q=f"{n} {random.random()} {uuid.uuid4()} {hashlib.sha256(repr(seen).encode()).hexdigest()}"))
    print(n, seen[-1])
hashlib.sha256(repr(seen).encode()).hexdigest()
`;
}

/** A server on which programs wait. */
export interface WaitingExecutions {
  readonly serving: Serving;
  /** Sessions of the programs. */
  readonly ids: readonly string[];
  /** Memory of the server with 20 of them, and with all. */
  readonly beforeBytes: number;
  readonly afterBytes: number;
}

/** Options of {@linkcode withWaitingExecutions}. */
export interface WaitingOptions {
  /** Called with the memory of the server after every 500 programs. */
  readonly onProgress?: (count: number, bytes: number) => void;
}

/** Starts a server on which so many programs wait, each in a session of its own. */
export async function withWaitingExecutions<Result>(
  count: number,
  work: (executions: WaitingExecutions) => Result | Promise<Result>,
  { onProgress = () => {} }: WaitingOptions = {},
): Promise<Result> {
  const folder = await Deno.makeTempDir();
  try {
    const memoryMb = 32 + Math.ceil(count / 250); // 4 kB for each session, beside the states
    await using serving = await Serving.start(
      ...["-p", "tools", "--max-sessions", "4", "--state-dir", `${folder}/state`],
      ...["--hibernate-memory", String(memoryMb)],
    );
    const { pid } = serving.child;
    const memory = async () => await privateBytes(pid) ?? 0;
    const ids: string[] = [];
    const open = (most: number) =>
      openWaiting(serving, ids, {
        count: most,
        onOpen: async (at) => at % 500 === 0 && onProgress(at, await memory()),
      });
    await open(Math.min(count, 20)); // the server has loaded all that it needs
    const beforeBytes = await memory();
    await open(count);
    await new Promise((resolve) => setTimeout(resolve, 5_000)); // the server collects its garbage
    return await work({ serving, ids, beforeBytes, afterBytes: await memory() });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

interface OpenOptions {
  readonly count: number;
  readonly onOpen: (count: number) => unknown;
}

async function openWaiting(serving: Serving, ids: string[], { count, onOpen }: OpenOptions): Promise<void> {
  await Promise.all(Array.from({ length: OPENING_LANES }, async () => {
    while (ids.length < count) {
      const at = ids.push("") - 1;
      const options = { tools: [TOOL], ttlSeconds: 86_000 };
      const opened = await serving.ask("/v1/sessions", options) as { id?: string };
      const { id } = opened;
      if (id === undefined) throw new Error(`session ${at} is not opened: ${JSON.stringify(opened)}`);
      ids[at] = id;
      const body = { code: askingProgram(2), suspendAt: "tool" };
      const result = await serving.ask(`/v1/sessions/${id}/exec`, body) as { status?: string };
      if (result.status !== "waiting") {
        throw new Error(`execution ${at} does not wait: ${JSON.stringify(result)}`);
      }
      await onOpen(at + 1);
    }
  }));
}
