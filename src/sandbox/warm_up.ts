import type { PythonSession } from "./contract/pool.ts";

/** Uses some of what most programs use: a class, a comprehension, formatted output and a traceback. */
const PROGRAM = `class A:
    def f(self, x=1):
        return [i * 2 for i in range(3)]
print(f"{A().f()[0]:>3}", "a".split(), {"a": 1.5})
A().g`;
const TIMEOUT_MS = 10_000;

/**
 * Runs a program in a session that no lease has had yet, and rewinds. V8 compiles a function of Python when it is first
 * called, so that the first program of a process otherwise takes some 15 ms more. Never rejects: if no interpreter can be
 * started, the next call of the session reports it.
 */
export async function warmUp(session: PythonSession): Promise<void> {
  try {
    await session.exec(PROGRAM, { timeoutMs: TIMEOUT_MS, then: "rewind" });
  } catch {
    // the session is disposed, or its interpreter is lost and is started again by the next call
  }
}
