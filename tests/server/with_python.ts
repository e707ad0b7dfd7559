import { loadProfile, SandboxPool } from "../../mod.ts";
import { type Served, served } from "./served.ts";

// Interpreters that serve several tests outlive the test that starts them.
Deno.test.sanitizer({ ops: false, resources: false });

/** Pools of this file's tests, by their size. */
const pools = new Map<number, SandboxPool>();

Deno.test.afterAll(async () => {
  for (const pool of pools.values()) await pool[Symbol.asyncDispose]();
});

/** Runs a test with a server that has real interpreters, which the tests of a file share. */
export async function withPython(
  test: (server: Served) => Promise<void>,
  options: Parameters<typeof served>[0] = {},
): Promise<void> {
  const { maxSessions = 2 } = options;
  const profile = await loadProfile("serve");
  const pool = pools.getOrInsertComputed(
    maxSessions,
    (size) => new SandboxPool({ profile, size, resetMode: "rewind" }),
  );
  await using server = served({ pool, maxSessions, ...options });
  await test(server);
}
