import type { ExecResult } from "../../sandbox/contract/exec.ts";
import type { PythonSession } from "../../sandbox/contract/pool.ts";
import type { Limits } from "../../sandbox/profile/schema.ts";
import type { Profile } from "../../sandbox/profile/profile.ts";

/** An attempt to break a limit of the sandbox, and the result. */
export interface DoctorAttempt {
  /** Property that must hold. */
  readonly name: string;
  readonly holds: boolean;
  /** Observed result of the program. */
  readonly seen: string;
}

interface Trial {
  readonly name: string;
  readonly code: string;
  readonly timeoutMs?: number;
  readonly holds: (result: ExecResult) => boolean;
}

const MIB = 1024 * 1024;

/** Fills the file system. Raises `OSError` when no space is left, and `RuntimeError` for any other failure. */
const FILL_FILES = `
import errno
try:
  with open("full", "wb", buffering=0) as file:
    while True: file.write(bytes(1 << 20))
except OSError as error:
  if error.errno != errno.ENOSPC: raise RuntimeError("writing failed for another reason") from error
  raise`;

/** Returns the profile with limits low enough to be reached within a moment. The same code enforces them. */
export function toAttemptProfile(profile: Profile): Profile {
  const { memoryBytes, outputBytes, fileBytes } = profile.limits;
  return {
    ...profile,
    limits: {
      ...profile.limits,
      memoryBytes: Math.min(memoryBytes, 256 * MIB),
      outputBytes: Math.min(outputBytes, MIB),
      fileBytes: Math.min(fileBytes, 16 * MIB),
    },
  };
}

/** Attacks the limits and the isolation of a session, one attempt at a time. */
export async function runAttempts(
  session: PythonSession,
  limits: Limits,
  signal: AbortSignal,
): Promise<DoctorAttempt[]> {
  const attempts: DoctorAttempt[] = [];
  for (const { name, code, timeoutMs, holds } of createTrials(limits)) {
    const result = await session.exec(code, { timeoutMs, signal });
    attempts.push({ name, holds: holds(result), seen: formatSeen(result) });
  }
  attempts.splice(-1, 0, await attemptConnection(session, signal));
  return attempts;
}

function createTrials({ outputBytes }: Limits): Trial[] {
  return [
    {
      name: "a loop is stopped, its variables are kept",
      code: "kept = 1\nwhile True: pass",
      timeoutMs: 200,
      holds: ({ status, stateKept }) => status === "timeout" && stateKept,
    },
    {
      name: "memory is bounded",
      code: "hoard = []\nwhile True: hoard.append(bytearray(1 << 24))",
      holds: ({ status }) => status === "memory",
    },
    {
      name: "output is bounded",
      code:
        `import sys\nhoard = None\nfor _ in range(${outputBytes} // 65536 + 1): sys.stdout.write("x" * 65536)`,
      holds: ({ truncated, stdout }) => truncated && stdout.length <= outputBytes,
    },
    {
      name: "files are bounded",
      code: FILL_FILES,
      holds: raises("OSError"),
    },
    { name: "JavaScript is out of reach", code: "import js", holds: raises("ModuleNotFoundError") },
    {
      name: "files of the host are out of reach",
      code: `open(${JSON.stringify(Deno.execPath())}, "rb")`,
      holds: raises("FileNotFoundError"),
    },
    {
      name: "the session is still alive",
      code: "kept",
      holds: (result) => result.status === "ok" && result.value === "1" && !result.restarted,
    },
  ];
}

function raises(type: string): (result: ExecResult) => boolean {
  return (result) => result.status === "error" && result.error.type === type;
}

/** Has the guest connect to a socket on the host, and checks from outside whether a connection arrived. */
async function attemptConnection(session: PythonSession, signal: AbortSignal): Promise<DoctorAttempt> {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let reached = false;
  const accepted = listener.accept().then((connection) => {
    reached = true;
    connection.close();
  }, () => {}); // the listener was closed without a connection
  const code = `import socket\nsocket.create_connection(("127.0.0.1", ${listener.addr.port}), 1)`;
  const result = await session.exec(code, { signal });
  listener.close();
  await accepted;
  return {
    name: "the network is out of reach",
    holds: result.status === "error" && !reached,
    seen: formatSeen(result),
  };
}

function formatSeen(result: ExecResult): string {
  if ("error" in result) {
    return `${result.status}: ${(result.error.message || result.error.type).slice(0, 60)}`;
  }
  return result.truncated ? `${result.status}, ${result.stdout.length} bytes kept` : result.status;
}
