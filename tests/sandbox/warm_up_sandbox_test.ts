import { assert, assertEquals } from "@std/assert";
import { loadProfile, type PythonSession, Sandbox } from "../../mod/sandbox.ts";
import { warmUp } from "../../src/sandbox/warm_up.ts";

Deno.test("warmUp() leaves nothing behind in a session", async () => {
  const profile = await loadProfile("python");
  await using sandbox = await Sandbox.start({ profile: { ...profile, sessionsPerProcess: 2 } });
  const [warm, other] = [await sandbox.openSession({ seed: 1 }), await sandbox.openSession({ seed: 1 })];
  await warmUp(warm);
  const code = "import gc, os\nprint(sorted(globals()), len(gc.get_objects()), os.listdir())\n1 / 0";
  const [result, expected] = [await warm.exec(code), await other.exec(code)];
  assert(result.status === "error" && expected.status === "error");
  assertEquals([result.stdout, result.stderr, result.error], [
    expected.stdout,
    expected.stderr,
    expected.error,
  ]);
});

Deno.test("warmUp() runs a program of which each part works, and that ends in a traceback", async () => {
  const profile = await loadProfile("python");
  await using sandbox = await Sandbox.start({ profile });
  const session = await sandbox.openSession();
  let outcome: string[] = [];
  await warmUp({
    exec: async (code, options) => {
      const result = await session.exec(code, options);
      outcome = [result.stdout, result.status === "error" ? result.error.type : result.status];
      return result;
    },
  } as Partial<PythonSession> as PythonSession);
  assertEquals(outcome, ["  0 ['a'] {'a': 1.5}\n", "AttributeError"]);
});

Deno.test("warmUp() does not reject if the session is disposed", async () => {
  const profile = await loadProfile("python");
  await using sandbox = await Sandbox.start({ profile });
  const session = await sandbox.openSession();
  await session[Symbol.asyncDispose]();
  await warmUp(session);
});
