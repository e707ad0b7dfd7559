import { Connection } from "./connection.ts";

/** How a server is loaded. */
export interface LoadOptions {
  readonly url: string;
  readonly connections: number;
  /** Whether there is to be another request, after so many. */
  readonly goOn: (sent: number) => boolean;
  /** Asks once and checks the answer; what it throws counts as an error. */
  readonly ask: (connection: Connection, number: number) => Promise<void>;
}

/** What came of a load. */
export interface LoadReport {
  /** Milliseconds of each request that was answered rightly. */
  readonly times: readonly number[];
  readonly errors: readonly unknown[];
  readonly seconds: number;
}

/**
 * Loads a server over so many connections at once, each of which asks again as soon as it has its answer. It is meant
 * to run in another process than the server. Every answer is checked, which generators that only count cannot do.
 */
export async function runLoad({ url, connections, goOn, ask }: LoadOptions): Promise<LoadReport> {
  const times: number[] = [];
  const errors: unknown[] = [];
  const startedAt = performance.now();
  let sent = 0;
  await Promise.all(Array.from({ length: connections }, async () => {
    using connection = new Connection(url);
    while (goOn(sent)) {
      const askedAt = performance.now();
      try {
        await ask(connection, sent++);
        times.push(performance.now() - askedAt);
      } catch (error) {
        errors.push(error);
      }
    }
  }));
  return { times, errors, seconds: (performance.now() - startedAt) / 1_000 };
}

/** Goes on for so many milliseconds from now. */
export function forMs(ms: number): () => boolean {
  const endsAt = performance.now() + ms;
  return () => performance.now() < endsAt;
}
