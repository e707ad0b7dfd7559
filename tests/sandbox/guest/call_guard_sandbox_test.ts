import { assertEquals } from "@std/assert";
import type { PythonSession } from "../../../src/sandbox/contract/pool.ts";
import { Closures, isForgedCall } from "../../../src/sandbox/guest/call_guard.ts";
import type { FileSystem } from "../../../src/sandbox/guest/emscripten.ts";
import { limitStreams } from "../../../src/sandbox/guest/files/file_quota.ts";
import { withSession } from "../shared_session.ts";
import { value } from "../started.ts";

/** Calls for which Emscripten's JavaScript would need quadratic time. They are refused with "File name too long". */
const TOO_LONG: Readonly<Record<string, string>> = {
  "a path that climbs": "os.stat('/..' * 1_000_000)",
  "a path to rename": "os.rename('a/../' * 1_000_000, 'b')",
  "a path to link to": "os.symlink('a/../' * 1_000_000, 'b')",
  "a path to open": "open('a/../' * 1_000_000)",
};
/** Calls that are refused, and the message. */
const CLOSED: Readonly<Record<string, string>> = {
  "os.readv(os.open('/dev/urandom', 0), [bytearray(10**7)] * 1000)": "Invalid argument",
  "fcntl.fcntl(1, fcntl.F_DUPFD, 2**31 - 1)": "Invalid argument",
  "fcntl.fcntl(1, fcntl.F_DUPFD, 4096)": "Invalid argument",
  "os.utime('/tmp', (2**53, 2**53))": "Invalid argument",
};
const BEFORE = "import ctypes, fcntl, os, socket, errno\n";

Deno.test("Session refuses calls to Emscripten whose arguments exceed the limits", async (t) => {
  await withSession(async (session) => {
    for (const [name, code] of Object.entries(TOO_LONG)) {
      await t.step(name, async () => {
        assertEquals(await raisedMessage(session, code), "File name too long");
      });
    }
    for (const [code, message] of Object.entries(CLOSED)) {
      await t.step(code, async () => assertEquals(await raisedMessage(session, code), message));
    }
    await t.step("names of Emscripten's JavaScript functions", async () => {
      const names =
        "['SDL_Delay', 'emscripten_run_script', 'JsvObject_New', '__syscall_openat', 'ffi_call_js']";
      const code = `${BEFORE}lib = ctypes.CDLL(None)\n[name for name in ${names} if hasattr(lib, name)]`;
      assertEquals(value(await session.exec(code)), "[]");
    });
    await t.step("the highest descriptor is allowed", async () => {
      assertEquals(value(await session.exec(`${BEFORE}fcntl.fcntl(1, fcntl.F_DUPFD, 4095)`)), "4095");
    });
    await t.step("the longest path is allowed", async () => {
      assertEquals(value(await session.exec(`${BEFORE}os.path.exists('/' * 4095)`)), "True");
    });
    await t.step("a host name", async () => {
      const code =
        `${BEFORE}try: socket.getaddrinfo(b':' * 100_000, 80)\nexcept ValueError: print('refused')`;
      assertEquals((await session.exec(code)).stdout, "refused\n");
    });
    await t.step("unread bytes of a pipe", async () => {
      const code = `${BEFORE}out, into = os.pipe()
taken = 0
try:
    while True: taken += os.write(into, bytes(100_000))
except BlockingIOError: print(taken)
print(len(os.read(out, 60_000)), os.write(into, bytes(60_000)))`;
      assertEquals((await session.exec(code)).stdout, "65536\n60000 60000\n");
    });
  });
});

Deno.test("limitStreams() removes pipes from the name table", () => {
  const destroyed: unknown[] = [];
  const fs = {
    MAX_OPEN_FDS: 8,
    ErrnoError: Error,
    nextfd: () => 0,
    createStream: (stream: object) => stream,
    destroyNode: (node: unknown) => void destroyed.push(node),
  };
  limitStreams(fs as unknown as FileSystem);
  const node = { pipe: { buckets: [] } };
  fs.createStream({ node, stream_ops: { write: () => 0 } });
  fs.createStream({ node: {}, stream_ops: {} });
  assertEquals(destroyed, [node]);
});

async function raisedMessage(session: PythonSession, code: string): Promise<string | undefined> {
  const guarded = `${BEFORE}try: ${code}\nexcept OSError as error: print(os.strerror(error.errno))`;
  return (await session.exec(guarded)).stdout.trim();
}

const [CALL, TYPES, TYPE, FIELDS] = [64, 128, 192, 256];
const [INTEGER, STRUCTURE] = [10, 13];

interface CallDescription {
  count?: number;
  fixed?: number;
  types?: number;
  size?: number;
  kind?: number;
  fields?: number;
  firstField?: number;
}

/** Returns a heap with the description of one call, in libffi's layout. */
function heapWith(
  { count = 1, fixed = count, types = TYPES, size = 4, kind = INTEGER, fields = FIELDS, firstField = 0 }:
    CallDescription,
): Uint8Array {
  const heap = new Uint8Array(4096);
  const view = new DataView(heap.buffer);
  const words = (at: number, ...numbers: number[]) =>
    numbers.forEach((number, index) => view.setUint32(at + 4 * index, number, true));
  words(CALL, 1, count, types, TYPE, 0, 0, fixed);
  words(TYPES, TYPE);
  words(TYPE, size, kind << 16, fields);
  words(FIELDS, firstField);
  return heap;
}

const FORGED: Readonly<Record<string, CallDescription>> = {
  "more arguments than 'ctypes' takes": { count: 1025 },
  "2³² - 1 arguments": { count: 0xffffffff },
  "more fixed arguments than arguments": { fixed: 2 },
  "types beyond the end of memory": { types: 4094 },
  "a structure that contains itself": { kind: STRUCTURE, firstField: TYPE },
  "a structure of two megabytes": { kind: STRUCTURE, size: 2 << 20 },
  "fields beyond the end of memory": { kind: STRUCTURE, fields: 0xfffffff0 },
  "a field beyond the end of memory": { kind: STRUCTURE, firstField: 4090 },
};

for (const [name, description] of Object.entries(FORGED)) {
  Deno.test(`isForgedCall() returns true for a call with ${name}`, () => {
    assertEquals(isForgedCall(heapWith(description), CALL), true);
  });
}

Deno.test("isForgedCall() returns false for calls that 'ctypes' describes", () => {
  assertEquals(isForgedCall(heapWith({}), CALL), false);
  assertEquals(isForgedCall(heapWith({ count: 0 }), CALL), false);
  assertEquals(isForgedCall(heapWith({ kind: STRUCTURE, size: 8 }), CALL), false);
});

Deno.test("isForgedCall() returns true for a call beyond the end of memory", () => {
  assertEquals(isForgedCall(heapWith({}), 4090), true);
  assertEquals(isForgedCall(heapWith({}), -8), true);
});

const BAD_TYPE = 1;
const CODE = 8;

/** Closures of a fake Emscripten, which allocates slots from 100 on and records the freed ones. */
function fakeClosures() {
  const heap = new Uint8Array(1024);
  const words = new DataView(heap.buffer);
  const [prepared, freed]: [number[], number[]] = [[], []];
  let next = 0;
  const closures = new Closures(() => heap);
  const { env } = closures.wrapImports({
    env: {
      ffi_closure_alloc_js(_bytes: number, code: number): number {
        const slot = 100 + next++;
        const closure = 16 * next;
        words.setUint32(code, slot, true);
        words.setUint32(closure, slot, true);
        return closure;
      },
      ffi_prep_closure_loc_js: (...args: number[]): number => (prepared.push(args.at(-1) as number), 0),
      ffi_closure_free_js: (closure: number): void => void freed.push(words.getUint32(closure, true)),
    },
  });
  const calls = env as unknown as Record<string, (...args: number[]) => number>;
  const call = (name: string, ...args: number[]) => calls[`ffi_${name}_js`]?.(...args) ?? 0;
  return { closures, words, prepared, freed, call };
}

Deno.test("Closures writes a function only into the slot that was allocated for it", () => {
  const { words, prepared, call } = fakeClosures();
  const closure = call("closure_alloc", 16, CODE);
  const slot = words.getUint32(CODE, true);
  assertEquals(call("prep_closure_loc", closure, 0, 0, 0, slot), 0);
  assertEquals(call("prep_closure_loc", closure, 0, 0, 0, 17), BAD_TYPE);
  assertEquals(call("prep_closure_loc", 512, 0, 0, 0, slot), BAD_TYPE);
  assertEquals(prepared, [slot]);
});

Deno.test("Closures frees the allocated slot, and only once", () => {
  const { words, freed, call } = fakeClosures();
  const closure = call("closure_alloc", 16, CODE);
  words.setUint32(closure, 17, true);
  call("closure_free", closure);
  call("closure_free", closure);
  call("closure_free", 512);
  assertEquals(freed, [100]);
});

Deno.test("Closures.freeAll() frees the remaining slots, the first one last", () => {
  const { closures, freed, call } = fakeClosures();
  const [, second = 0] = [1, 2, 3].map(() => call("closure_alloc", 16, CODE));
  call("closure_free", second);
  closures.freeAll();
  closures.freeAll();
  assertEquals(freed, [101, 102, 100]);
});
