import { Connection } from "./connection.ts";

/** Options of {@linkcode runLoad}. */
export interface LoadOptions {
  readonly url: string;
  readonly connections: number;
  /** True if another request is sent after this many. */
  readonly goOn: (sent: number) => boolean;
  /** Sends one request and checks the response. An exception counts as an error. */
  readonly ask: (connection: Connection, number: number) => Promise<void>;
}

/** Result of {@linkcode runLoad}. */
export interface LoadReport {
  /** Milliseconds of each request with a right response. */
  readonly times: readonly number[];
  readonly errors: readonly unknown[];
  readonly seconds: number;
}

/**
 * Sends requests over several connections; each connection sends its next request as soon as it has a response. Run it
 * in another process than the server. It checks every response, unlike load generators that only count.
 */
export async function runLoad({ url, connections, goOn, ask }: LoadOptions): Promise<LoadReport> {
  const times: number[] = [];
  const errors: unknown[] = [];
  const startedAt = performance.now();
  let sent = 0;
  await Promise.all(Array.from({ length: connections }, async () => {
    using connection = new Connection(url);
    while (goOn(sent)) {
      const sentAt = performance.now();
      try {
        await ask(connection, sent++);
        times.push(performance.now() - sentAt);
      } catch (error) {
        errors.push(error);
      }
    }
  }));
  return { times, errors, seconds: (performance.now() - startedAt) / 1_000 };
}

/** Returns a condition that is true for `ms` milliseconds from now. */
export function forMs(ms: number): () => boolean {
  const endsAt = performance.now() + ms;
  return () => performance.now() < endsAt;
}
