import { Connection } from "../connection.ts";
import { median } from "../measure.ts";
import { ownProgram, runCode } from "../run_code.ts";
import { Serving } from "../serving.ts";

const ENDLESS = "while True: pass";

/**
 * Measures the milliseconds (median of `runs`) from the disconnect of a client whose program never ends until another
 * client has the response to its own program, on a server with one session.
 */
export async function disconnectReleaseMs(
  { runs, cacheDir }: { runs: number; cacheDir?: string | undefined },
): Promise<number> {
  await using serving = await Serving.startWith(
    { ...cacheDir !== undefined && { PADDOCK_CACHE_DIR: cacheDir } },
    ["--max-sessions", "1"],
  );
  const times: number[] = [];
  for (let run = 0; run < runs; run++) times.push(await measureRelease(serving.url, run));
  return median(times);
}

async function measureRelease(url: string, number: number): Promise<number> {
  using other = new Connection(url);
  await runCode(other, ownProgram(number)); // now the connection is open, and the session free
  await startAndDisconnect(url);
  const startedAt = performance.now();
  await runCode(other, ownProgram(number));
  return performance.now() - startedAt;
}

/** Starts a program that never ends, and disconnects when it holds the session. */
async function startAndDisconnect(url: string): Promise<void> {
  using connection = new Connection(url);
  const disconnect = new AbortController();
  const response = connection.post("/run_code", { code: ENDLESS, language: "python" }, {
    signal: disconnect.signal,
  });
  while (!/^paddock_sessions 1$/m.test(await (await fetch(`${url}/metrics`)).text()));
  disconnect.abort();
  await response.catch(() => {}); // aborted above
}
