import { loadProfile, type Profile, Sandbox, type Session } from "../../mod/sandbox.ts";

// A process that serves several tests outlives the test that starts it.
Deno.test.sanitizer({ ops: false, resources: false });

interface Started {
  readonly sandbox: Sandbox;
  readonly session: Session;
}

/** Idle sandboxes of this file's tests, by the JSON of their profiles. */
const idle = new Map<string, Started>();

Deno.test.afterAll(async () => {
  for (const { sandbox } of idle.values()) await sandbox[Symbol.asyncDispose]();
});

/**
 * Runs a test with a session in the state after its start. Tests of one file and one profile share a process, as a
 * start costs a second of CPU time and a rewind none.
 */
export async function withSession(
  test: (session: Session, sandbox: Sandbox) => Promise<void>,
  options: { profile?: Profile; seed?: number } = {},
): Promise<void> {
  const { profile = await loadProfile("python"), seed } = options;
  const key = JSON.stringify(profile);
  const started = idle.get(key) ?? await startSession(profile);
  idle.delete(key); // a test that fails does not give its sandbox back
  const { sandbox, session } = started;
  try {
    await session.reset({ mode: "rewind", seed });
    await test(session, sandbox);
  } catch (error) {
    await sandbox[Symbol.asyncDispose]();
    throw error;
  }
  idle.set(key, started);
}

async function startSession(profile: Profile): Promise<Started> {
  const sandbox = await Sandbox.start({ profile });
  return { sandbox, session: await sandbox.openSession() };
}
