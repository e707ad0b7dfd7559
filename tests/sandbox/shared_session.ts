import { loadProfile, type Profile, Sandbox, type Session } from "../../mod/sandbox.ts";

// A process that serves several tests outlives the test that starts it.
Deno.test.sanitizer({ ops: false, resources: false });

interface Started {
  readonly sandbox: Sandbox;
  readonly session: Session;
}

/** Maximum number of idle sandboxes, which take 100 MB each. */
const MAX_IDLE = 4;
/** Idle sandboxes, by the JSON of their profiles; the one that was used last is the last. */
const idle = new Map<string, Started>();

Deno.test.afterAll(async () => {
  for (const { sandbox } of idle.values()) await sandbox[Symbol.asyncDispose]();
});

/**
 * Runs a test with a session in the state after its start. Tests of one realm and one profile share a process, as a
 * start costs half a second of CPU time and a rewind none.
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
  if (!await isUsable(session)) return await sandbox[Symbol.asyncDispose]();
  idle.set(key, started);
  for (const [oldest, { sandbox }] of idle) {
    if (idle.size <= MAX_IDLE) break;
    idle.delete(oldest);
    await sandbox[Symbol.asyncDispose]();
  }
}

/** False if the test has disposed the session. */
async function isUsable(session: Session): Promise<boolean> {
  return await session.reset({ mode: "rewind" }).then(() => true, () => false);
}

async function startSession(profile: Profile): Promise<Started> {
  const sandbox = await Sandbox.start({ profile });
  return { sandbox, session: await sandbox.openSession() };
}
