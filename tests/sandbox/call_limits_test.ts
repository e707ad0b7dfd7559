import { assertEquals } from "@std/assert";
import type { ExecResult, PythonSession } from "../../src/sandbox/exec.ts";
import type { FileSystem } from "../../src/sandbox/guest/emscripten.ts";
import { limitStreams } from "../../src/sandbox/guest/file_quota.ts";
import { parseProfile } from "../../src/sandbox/profile.ts";
import { WorkerSandbox } from "../../src/sandbox/worker_sandbox.ts";

/** What would take JavaScript that none can end the square of its length, and how it is refused. */
const TOO_LONG: Readonly<Record<string, string>> = {
  "a path that climbs": "os.stat('/..' * 1_000_000)",
  "a path to rename": "os.rename('a/../' * 1_000_000, 'b')",
  "a path to link to": "os.symlink('a/../' * 1_000_000, 'b')",
  "a path to open": "open('a/../' * 1_000_000)",
};
/** What is refused whatever is asked, and in which words. */
const CLOSED: Readonly<Record<string, string>> = {
  "socket.socket()": "Permission denied",
  "os.readv(os.open('/dev/urandom', 0), [bytearray(10**7)] * 1000)": "Invalid argument",
  "fcntl.fcntl(1, fcntl.F_DUPFD, 2**31 - 1)": "Invalid argument",
  "fcntl.fcntl(1, fcntl.F_DUPFD, 4096)": "Invalid argument",
  "os.utime('/tmp', (2**53, 2**53))": "Invalid argument",
};
const BEFORE = "import ctypes, fcntl, os, socket, errno\n";

Deno.test("a session refuses calls of Emscripten's that ask for too much", async (t) => {
  const profile = parseProfile("{}", { source: "calls" });
  await using sandbox = new WorkerSandbox({ profile, maxWorkers: 2 });
  await using lease = await sandbox.acquire();
  const { session } = lease;
  for (const [name, code] of Object.entries(TOO_LONG)) {
    await t.step(name, async () => {
      assertEquals(await raised(session, code), "Filename too long");
    });
  }
  for (const [code, words] of Object.entries(CLOSED)) {
    await t.step(code, async () => assertEquals(await raised(session, code), words));
  }
  await t.step("what Emscripten's JavaScript could do, by its name", async () => {
    const names =
      "['SDL_Delay', 'emscripten_run_script', 'JsvObject_New', '__syscall_openat', 'ffi_call_js']";
    const code = `${BEFORE}lib = ctypes.CDLL(None)\n[name for name in ${names} if hasattr(lib, name)]`;
    assertEquals(valueOf(await session.exec(code)), "[]");
  });
  await t.step("descriptors as high as there are", async () => {
    assertEquals(valueOf(await session.exec(`${BEFORE}fcntl.fcntl(1, fcntl.F_DUPFD, 4095)`)), "4095");
  });
  await t.step("a path of as many bytes as there may be", async () => {
    assertEquals(valueOf(await session.exec(`${BEFORE}os.path.exists('/' * 4095)`)), "True");
  });
  await t.step("a host's name", async () => {
    const code = `${BEFORE}try: socket.getaddrinfo(b':' * 100_000, 80)\nexcept OSError: print('refused')`;
    assertEquals((await session.exec(code)).stdout, "refused\n");
  });
  await t.step("what stands in a pipe", async () => {
    const code = `${BEFORE}out, into = os.pipe()
taken = 0
try:
    while True: taken += os.write(into, bytes(100_000))
except BlockingIOError: print(taken)
print(len(os.read(out, 60_000)), os.write(into, bytes(60_000)))`;
    assertEquals((await session.exec(code)).stdout, "65536\n60000 60000\n");
  });
});

Deno.test("limitStreams() has the table of names forget pipes", () => {
  const forgotten: unknown[] = [];
  const fs = {
    MAX_OPEN_FDS: 8,
    ErrnoError: Error,
    createStream: (stream: object) => stream,
    destroyNode: (node: unknown) => void forgotten.push(node),
  };
  limitStreams(fs as unknown as FileSystem);
  const node = { pipe: { buckets: [] } };
  fs.createStream({ node, stream_ops: { write: () => 0 } });
  fs.createStream({ node: {}, stream_ops: {} });
  assertEquals(forgotten, [node]);
});

async function raised(session: PythonSession, code: string): Promise<string | undefined> {
  const tried = `${BEFORE}try: ${code}\nexcept OSError as error: print(os.strerror(error.errno))`;
  return (await session.exec(tried)).stdout.trim();
}

function valueOf(result: ExecResult): string | undefined {
  return result.status === "ok" ? result.value : result.status;
}
