import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { CheckpointError, loadProfile, Sandbox, SandboxError, SandboxPool } from "../../mod/sandbox.ts";
import { sendState } from "../../src/sandbox/checkpoint/transfer.ts";
import { type GuestLink, GuestRefusal } from "../../src/sandbox/guest_link.ts";
import { parseProfile } from "../../src/sandbox/profile/profile.ts";
import { FrameKind, MAX_FRAME_BYTES, PART_BYTES } from "../../src/sandbox/protocol.ts";
import { Session } from "../../src/sandbox/session.ts";
import { HANG_MS } from "../deadline.ts";
import { value } from "../sandbox/started.ts";
import { concat, frame, HostileSource, MAX_STATE_BYTES } from "./hostile_source.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const profile = await loadProfile("python");

function parts(count: number, bytes = PART_BYTES): Uint8Array {
  return concat(...Array.from({ length: count }, () => frame("part", new Uint8Array(bytes))));
}

function headOf(payloadBytes: number, kind: number): Uint8Array {
  const head = new Uint8Array([0, 0, 0, 0, 1, 0, kind, 0]);
  new DataView(head.buffer).setUint32(0, payloadBytes, true);
  return head;
}

/** Responses of a compromised worker to the request of its state, each of which ends its process. */
const BREACHES: Record<string, Uint8Array> = {
  "more bytes than the limit": parts(MAX_STATE_BYTES / PART_BYTES + 1),
  "a stream without end": parts(8 * MAX_STATE_BYTES / PART_BYTES),
  "many parts of one byte": parts(10_000, 1),
  "empty parts": parts(10_000, 0),
  "empty parts, after one that is not full": concat(parts(1, 1), parts(10_000, 0)),
  "a frame larger than the cap": headOf(MAX_FRAME_BYTES + 1, FrameKind.part),
  "a frame of 4 GiB": headOf(0xffffffff, FrameKind.part),
  "a result": frame("result", "x"),
  "output": frame("stdout", "x"),
  "a call of a host tool": frame("call", '{"call":1,"name":"f","arguments":{}}'),
  "a base image": frame("image", "x"),
  "a kind of the host's own": frame("piece", "x"),
  "a kind that there is not": frame(255),
};

for (const [name, answer] of Object.entries(BREACHES)) {
  Deno.test(`Session.checkpoint() ends a child that answers with ${name}`, { timeout: HANG_MS }, async () => {
    const hostile = parseProfile('{"layers":{"watchdog":"off"}}', { source: "hostile" });
    await using source = await HostileSource.create(hostile, answer);
    await using session = new Session(source);
    await assertRejects(() => session.checkpoint(), SandboxError);
    assertEquals((await source.firstEnd()).signal, "SIGKILL");
  });
}

Deno.test("Session.checkpoint() cuts the reason of a child that refuses with a megabyte", async () => {
  const hostile = parseProfile('{"layers":{"watchdog":"off"}}', { source: "hostile" });
  await using source = await HostileSource.create(hostile, frame("done", `\0${"x".repeat(1 << 20)}`));
  await using session = new Session(source);
  const { message } = await assertRejects(() => session.checkpoint(), CheckpointError);
  assert(message.length < 10_000, `${message.length}`);
});

Deno.test("Session.restore() ends a child that confirms it before and again", {
  timeout: HANG_MS,
}, async () => {
  const hostile = parseProfile('{"layers":{"watchdog":"off"}}', { source: "hostile" });
  await using source = await HostileSource.create(hostile, frame("done", "\x01"));
  await using session = new Session(source);
  await session.restoreState({ bytes: new Uint8Array(MAX_STATE_BYTES) }, { reseed: false }).catch(() => {});
  assertEquals((await source.firstEnd()).signal, "SIGKILL");
});

/** A node of a state's files. */
type Node = [number, string, number, number, number[], unknown];
/** The head of a state, which a compromised worker writes as it likes. */
// deno-lint-ignore no-explicit-any
type Head = Record<string, any> & { runs: unknown[]; files: { nodes: Node[] }; open: unknown[] };

function splitState(state: Uint8Array): { body: Uint8Array; head: Head } {
  const end = state.length - 4;
  const headBytes = new DataView(state.buffer, state.byteOffset + end).getUint32(0, true);
  const head = JSON.parse(decoder.decode(state.subarray(end - headBytes, end)));
  return { body: state.subarray(0, end - headBytes), head };
}

function joinState(body: Uint8Array, head: Head | string): Uint8Array {
  const bytes = encoder.encode(typeof head === "string" ? head : JSON.stringify(head));
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, bytes.length, true);
  return concat(body, bytes, length);
}

const [FILE, FOLDER, LINK, DEVICE] = [0o100644, 0o040755, 0o120777, 0o020666];
const TIMES = [1, 2, 3];
const addNode = (...nodes: Node[]) => ({ files }: Head) => void files.nodes.push(...nodes);
const setLink = (place: object) => (head: Head) => {
  head.links = { tableSlots: 1, places: [place], handles: [], mainSlots: {}, added: [] };
};
const openFile = (more: object) => ({ open }: Head) =>
  void open.push({ fds: [50], node: 0, path: "/", flags: 0, position: 0, ...more });

/** Changes of a head, after which no interpreter may take the state. */
const FORGED_HEADS: Record<string, (head: Head) => unknown> = {
  "a heap of less than nothing": (head) => head.heapBytes = -1,
  "a heap of 4 GiB": (head) => head.heapBytes = 2 ** 32,
  "a heap that is text": (head) => head.heapBytes = "1",
  "pages that overlap": ({ runs }) => runs.splice(0, 2, [1, 3], [2, 3]),
  "pages beyond the heap": ({ runs }) => runs.push([2 ** 20, 1]),
  "a huge number of pages": ({ runs }) => runs.splice(0, runs.length, [0, 2 ** 31]),
  "pages that are fractions": ({ runs }) => runs.unshift([0.5, 1]),
  "a page more than there are bytes of": ({ runs }) => runs.unshift([0, 1]),
  "no pages": ({ runs }) => runs.splice(0),
  "runs that are no list": (head) => Object.assign(head, { runs: { length: 1e9 } }),
  "two million runs": (head) => head.runs = Array.from({ length: 2e6 }, (_, index) => [index, 1]),
  "a file above its folder": addNode([0, "../x", 900, FILE, TIMES, 0]),
  "a file of the host's root": addNode([0, "/etc/passwd", 900, FILE, TIMES, 0]),
  "a file that is its own folder": (head) =>
    head.files.nodes.push([head.files.nodes.length, "x", 900, FOLDER, TIMES, 0]),
  "a file in a later folder": addNode([9999, "x", 900, FILE, TIMES, 0]),
  "a file in a link": (head) => {
    const link = head.files.nodes.push([0, "l", 900, LINK, TIMES, "/dev"]) - 1;
    head.files.nodes.push([link, "x", 901, FILE, TIMES, 0]);
  },
  "two files with one name": addNode([0, "x", 900, FOLDER, TIMES, 0], [0, "x", 901, FOLDER, TIMES, 0]),
  "two files with one inode": addNode([0, "x", 900, FOLDER, TIMES, 0], [0, "y", 900, FOLDER, TIMES, 0]),
  "a file larger than the checkpoint": addNode([0, "x", 900, FILE, TIMES, 2 ** 40]),
  "a file of less than nothing": addNode([0, "x", 900, FILE, TIMES, -1]),
  "a FIFO": addNode([0, "x", 900, 0o010644, TIMES, 0]),
  "a time that is none": addNode([0, "x", 900, FOLDER, [1e300, 1, 1], 0]),
  "no root": ({ files }) => files.nodes.splice(0),
  "no devices and no library": ({ files }) => files.nodes.splice(1),
  "a working directory that is no path": ({ files }) => Object.assign(files, { workingFolder: "x" }),
  "a descriptor twice": openFile({ fds: [0] }),
  "a huge descriptor": openFile({ fds: [2 ** 30] }),
  "an open file that there is not": openFile({ node: 1e6 }),
  "an open file beyond the library": openFile({ node: "/lib/../../../etc/passwd" }),
  "an open file of a huge path": openFile({ node: "/".repeat(2e6) }),
  "a native library that there is not": setLink({ library: 7, memoryBase: 0, tableBase: 0, addedSlots: {} }),
  "a native library over CPython's functions": setLink({
    library: 0,
    memoryBase: 0,
    tableBase: 1,
    addedSlots: { malloc: 2 },
  }),
  "a native library with a name of JavaScript": setLink({ library: "__proto__", addedSlots: {} }),
  "a stack beyond the heap": (head) => head.freeStacks = [{ address: 2 ** 31, bytes: 2 ** 31 }],
  "a zone that is no base64": (head) => head.zone = "*",
  "a time of the processor that is none": (head) => head.cpuMs = "1",
  "a clock at the end of time": (head) => head.clockMs = 1e300,
  "a shell": (head) => head.shell = {},
};

/** States that are none at all. */
const NO_STATES: Record<string, (body: Uint8Array, head: Head) => Uint8Array> = {
  "nothing": () => new Uint8Array(0),
  "three bytes": () => new Uint8Array(3),
  "zeros": () => new Uint8Array(100_000),
  "ones": () => new Uint8Array(100_000).fill(0xff),
  "a head that is no JSON": (body) => joinState(body, "{"),
  "a head that is null": (body) => joinState(body, "null"),
  "a head of a million brackets": (body) => joinState(body, "[".repeat(1e6)),
  "a head with a prototype": (body, head) =>
    joinState(body, JSON.stringify(head).replace('"open":', '"__proto__":{"x":1},"open":{"length":3},"o":')),
  "a byte too many": (body, head) => joinState(concat(new Uint8Array(1), body), head),
  "a byte too few": (body, head) => joinState(body.subarray(1), head),
  "the end of another one": (body, head) => joinState(body, head).subarray(100),
};

Deno.test("an interpreter takes no state that a compromised worker has forged, and harms nothing", async (t) => {
  await using sandbox = await Sandbox.start({ profile });
  const session = await sandbox.openSession();
  await session.exec("open('f', 'w').write('x' * 100); kept = [1]");
  const { bytes } = await session.captureState({});
  await session[Symbol.asyncDispose]();
  const forged = new Map<string, Uint8Array>();
  for (const [name, change] of Object.entries(FORGED_HEADS)) {
    const { body, head } = splitState(bytes);
    change(head);
    forged.set(name, joinState(body, head));
  }
  for (const [name, forge] of Object.entries(NO_STATES)) {
    const { body, head } = splitState(bytes);
    forged.set(name, forge(body, head));
  }
  let link: GuestLink | undefined;
  for (const [name, state] of forged) {
    await t.step(name, async () => {
      if (!link?.alive) link = await sandbox.openLink(undefined);
      const error = await sendState(link, state, { reseed: false }).catch((error: unknown) => error);
      assert(error instanceof GuestRefusal || error instanceof SandboxError, `${error ?? "it was taken"}`);
      if (!link.alive) link = await sandbox.openLink(undefined);
      await sendState(link, bytes, { reseed: false }); // an honest state is taken afterwards
    });
  }
  link?.fail({ reason: "closed", message: "the test is over" });
});

Deno.test("random changes of a state end at most its interpreter", async () => {
  await using sandbox = await Sandbox.start({ profile });
  await using session = await sandbox.openSession();
  await session.exec("open('f', 'w').write('x' * 100); import json");
  const { bytes } = await session.captureState({});
  const change = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(255));
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 20 }), async (changes) => {
      const state = bytes.slice();
      for (const [place, byte] of changes) state[Math.floor(place * (state.length - 1))] = byte;
      await session.restoreState({ bytes: state }, { reseed: false }).catch((error) => {
        assert(error instanceof CheckpointError || error instanceof SandboxError, `${error}`);
      });
      await session.exec("1", { timeoutMs: 2000 }).catch((error) => assert(error instanceof SandboxError));
      await session.reset();
      assertEquals(value(await session.exec("2")), "2");
    }),
    { numRuns: 15 },
  );
});

/** Files of a state by which it might write to what all sessions of a process share. */
const SHARED: Record<string, (head: Head) => unknown> = {
  "an open file of the library, writable": openFile({ node: "/lib/python314.zip", flags: 0o2 }),
  "a device of any number": addNode([0, "device", 900, DEVICE, TIMES, 0x1234]),
  "a link to the library": addNode([0, "link", 900, LINK, TIMES, "/lib/python314.zip"]),
};

Deno.test("a forged state cannot write to the library that all sessions share", async (t) => {
  const shared = parseProfile('{"sessionsPerProcess":2}', { source: "shared" });
  await using sandbox = await Sandbox.start({ profile: shared });
  await using session = await sandbox.openSession();
  await using other = await sandbox.openSession();
  const look = "import hashlib\nhashlib.sha256(open('/lib/python314.zip', 'rb').read()).hexdigest()";
  const expected = value(await other.exec(look));
  const { bytes } = await session.captureState({});
  for (const [name, change] of Object.entries(SHARED)) {
    await t.step(name, async () => {
      const { body, head } = splitState(bytes);
      change(head);
      await session.restoreState({ bytes: joinState(body, head) }, { reseed: false }).catch((error) => {
        assert(error instanceof CheckpointError, `${error}`);
      });
      const write = `
import os
written = 0
for place in (50, '/device', '/link'):
    try:
        fd = place if isinstance(place, int) else os.open(place, os.O_RDWR)
        written += os.pwrite(fd, b'forged', 0)
    except OSError: pass
written`;
      const result = await session.exec(write);
      if (result.status !== "crashed") assertEquals(value(result), "0");
      assertEquals(value(await other.exec(look)), expected);
    });
  }
});

/** What a copy leaves, and what another copy in the same interpreter finds: never what was left. */
const LEAVINGS: Record<string, [leave: string, look: string]> = {
  "names and modules": [
    "import sys, builtins; x = builtins.left = sys.left = 1",
    "import sys, builtins; 'x' in globals() or hasattr(builtins, 'left') or hasattr(sys, 'left')",
  ],
  "files and folders": [
    "import os\nfor p in ('/tmp/left', '/home/left', 'left'): open(p, 'w').close()\nos.mkdir('/left')",
    "import os; any(map(os.path.exists, ('/tmp/left', '/home/left', 'left', '/left')))",
  ],
  "modes and times of shared folders": [
    "import os; os.chmod('/tmp', 0o123); os.utime('/home', (5, 5))",
    "import os; oct(os.stat('/tmp').st_mode)[-3:] == '123' or os.stat('/home').st_mtime == 5",
  ],
  "open descriptors": [
    "import os; [os.dup(1) for _ in range(9)]",
    "import os\ndef is_open(fd):\n    try: return bool(os.fstat(fd))\n    except OSError: return False\nany(map(is_open, range(5, 20)))",
  ],
  "the environment and the zone": [
    "import os, time; os.environ['LEFT'] = '1'; os.environ['TZ'] = 'Asia/Tokyo'; time.tzset()",
    "import os, time; time.tzset(); 'LEFT' in os.environ or time.timezone != 0",
  ],
  "the umask and the working directory": [
    "import os; os.umask(0o777); os.chdir('/tmp')",
    "import os; os.umask(0) == 0o777 or os.getcwd() != '/home/pyodide'",
  ],
  "numbers of inodes": [
    "import os\nfor n in range(99): open(f'{n}', 'w').close()",
    "import os; open('new', 'w').close(); os.stat('new').st_ino > FIRST + 20",
  ],
  "freed memory": [
    "text = 'sibling-canary-' + str(4711); del text",
    searchCode(encoder.encode("sibling-canary-4711")),
  ],
  "globals of the module": [
    "import ctypes; c = ctypes.CDLL(None); c.setTempRet0(77); c.emscripten_stack_set_limits(99, 0)",
    "import ctypes; c = ctypes.CDLL(None); c.getTempRet0() == 77 or c.emscripten_stack_get_base() == 99",
  ],
  "a callback of C": [
    "import ctypes; kept = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 77); slot = ctypes.cast(kept, ctypes.c_void_p).value; open('/tmp/slot', 'w').write(str(slot))",
    "import os; os.path.exists('/tmp/slot')",
  ],
  "an alarm": [
    "import signal; signal.signal(signal.SIGALRM, lambda *_: None); signal.setitimer(signal.ITIMER_REAL, 60)",
    "import signal; signal.getitimer(signal.ITIMER_REAL)[0] > 0",
  ],
  "random numbers": [
    "import random; random.seed(5)",
    "import random; random.random() == 0.6229016948897019",
  ],
};

Deno.test("a copy leaves nothing for the next copy in its interpreter", async (t) => {
  await using pool = new SandboxPool({ profile, size: 2, resetMode: "rewind" });
  await using parent = await pool.acquire();
  await parent.session.exec("import os; open('f', 'w').close(); FIRST = os.stat('f').st_ino");
  for (const [name, [leave, look]] of Object.entries(LEAVINGS)) {
    await t.step(name, async () => {
      const [first] = await parent.session.fork(1);
      const left = await first?.session.exec(leave);
      await first?.[Symbol.asyncDispose]();
      assertEquals(left?.status, "ok", JSON.stringify(left));
      const [second] = await parent.session.fork(1); // the pool has one interpreter for it
      const seen = await second?.session.exec(look);
      await second?.[Symbol.asyncDispose]();
      assertEquals(seen && value(seen), "False");
    });
  }
});

Deno.test("a checkpoint has nothing of the host, its key, or a lease before", async () => {
  const key = crypto.getRandomValues(new Uint8Array(32));
  await using pool = new SandboxPool({ profile, size: 1, resetMode: "rewind", checkpointKey: key });
  const canary = "canary-of-another-lease";
  {
    await using lease = await pool.acquire();
    const code =
      `text = '${canary}'; open('${canary}', 'w').write(text * 999); import os; os.environ['C'] = text`;
    assertEquals(
      (await lease.session.exec(code, { stdin: canary, files: { [canary]: canary } })).status,
      "ok",
    );
    await lease.session.checkpoint({ owner: canary });
  }
  await using lease = await pool.acquire();
  await lease.session.exec("mine = 'canary-of-this-lease'");
  const checkpoint = await lease.session.checkpoint({ owner: "bob" });
  const stored = new TextDecoder("latin1").decode(await checkpoint.toBytes());
  await using restored = await Sandbox.start({ profile, checkpointKey: key });
  await using session = await restored.openSession();
  await session.restore(checkpoint, { owner: "bob" });
  const { head } = splitState((await session.captureState({})).bytes);
  const isInHeap = async (secret: Uint8Array) => value(await session.exec(searchCode(secret))) === "True";
  assert(await isInHeap(encoder.encode("canary-of-this-lease")), "the state itself is found");
  const texts = [canary, key.toHex(), Deno.execPath(), Deno.cwd()];
  for (const secret of [key, ...texts.map((text) => encoder.encode(text))]) {
    const text = new TextDecoder("latin1").decode(secret);
    assert(!stored.includes(text) && !JSON.stringify(head).includes(text), text);
    assert(!await isInHeap(secret), text);
  }
});

/** Python that searches its memory for bytes, of which it holds only the two halves. */
function searchCode(secret: Uint8Array): string {
  const half = secret.length >> 1;
  const [first, second] = [secret.subarray(0, half), secret.subarray(half)].map((part) =>
    JSON.stringify([...part])
  );
  return `import ctypes
first, second = bytes(${first}), bytes(${second})
def has_both(piece):
    at = piece.find(first)
    while at >= 0:
        if piece.startswith(second, at + len(first)): return True
        at = piece.find(first, at + 1)
    return False
end = ctypes.CDLL(None).sbrk(0) - (1 << 17)
any(has_both(ctypes.string_at(at, (1 << 16) + 99)) for at in range(1 << 16, end, 1 << 16))`;
}
