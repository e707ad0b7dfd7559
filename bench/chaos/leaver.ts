import { Connection } from "../connection.ts";
import { median } from "../measure.ts";
import { ownProgram, runCode } from "../run_code.ts";
import { Serving } from "../serving.ts";

const ENDLESS = "while True: pass";

/**
 * Milliseconds, the median of some runs, from when a client goes away whose program would never end until another one
 * has the answer to a program of their own, on a server with one session.
 */
export async function freedMs(
  { runs, cacheDir }: { runs: number; cacheDir?: string | undefined },
): Promise<number> {
  await using serving = await Serving.startWith(
    { ...cacheDir !== undefined && { PADDOCK_CACHE_DIR: cacheDir } },
    ["--max-sessions", "1"],
  );
  const times: number[] = [];
  for (let run = 0; run < runs; run++) times.push(await freedOnce(serving.url, run));
  return median(times);
}

async function freedOnce(url: string, number: number): Promise<number> {
  using other = new Connection(url);
  await runCode(other, ownProgram(number)); // the connection is there, and the session free
  await leave(url);
  const startedAt = performance.now();
  await runCode(other, ownProgram(number));
  return performance.now() - startedAt;
}

/** Has a program run that never ends, and goes away when it has the session. */
async function leave(url: string): Promise<void> {
  using connection = new Connection(url);
  const gone = new AbortController();
  const left = connection.post("/run_code", { code: ENDLESS, language: "python" }, gone.signal);
  while (!/^paddock_sessions 1$/m.test(await (await fetch(`${url}/metrics`)).text()));
  gone.abort();
  await left.catch(() => {}); // nobody waits for it
}
