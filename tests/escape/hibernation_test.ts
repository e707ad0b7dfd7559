import { assert, assertEquals } from "@std/assert";
import { loadProfile, SandboxPool } from "../../mod/sandbox.ts";
import { HibernationStore } from "../../src/server/hibernation/hibernation_store.ts";
import { Metrics } from "../../src/server/metrics.ts";
import type { LiveSession } from "../../src/server/sessions/live_session.ts";
import { SessionService } from "../../src/server/sessions/session_service.ts";

const { signal } = new AbortController();
const NEVER = 3_600_000;
const [ADA, EVE] = ["ada", "eve"];

/** Runs a test with sessions that share two interpreters, which are rewound between them. */
async function withSessions(
  test: (sessions: SessionService, store: HibernationStore) => Promise<void>,
  { bytes }: { bytes?: number } = {},
): Promise<void> {
  const profile = await loadProfile("python");
  await using pool = new SandboxPool({ profile, size: 2, resetMode: "rewind" });
  const store = new HibernationStore({ bytes, owners: 2 });
  await using sessions = new SessionService({
    pool,
    metrics: new Metrics(),
    maxSessions: 2,
    owners: 2,
    hibernation: { store, afterMs: NEVER },
  });
  await test(sessions, store);
}

async function valueOf(session: LiveSession, code: string): Promise<string | undefined> {
  const result = await session.exec(code, { timeoutMs: 30_000 });
  assertEquals(result.status, "ok", JSON.stringify(result));
  return result.status === "ok" ? result.value : undefined;
}

/** A text that no program contains as a whole. */
const SECRET = `"".join(["se", "cret", str(7 * 11), "-of-", "ada"])`;

/** Python that counts the secret in the memory below an address, of which it holds only parts. */
function searchCode(end: number): string {
  return `
import ctypes
first, second = b"cret" + str(7 * 11).encode(), b"-of-" + b"ada"
def count(piece):
    at, found = piece.find(first), 0
    while at >= 0:
        found += piece.startswith(second, at + len(first)); at = piece.find(first, at + 1)
    return found
sum(count(ctypes.string_at(at, (1 << 16) + 20)) for at in range(1 << 16, ${end}, 1 << 16))`;
}

Deno.test("a session finds nothing of the one that hibernated and had its interpreter before", async () => {
  await withSessions(async (sessions) => {
    const first = await sessions.create({ owner: ADA, signal });
    await first.exec(`kept = [${SECRET} + str(n) for n in range(1000)]; open("x", "w").write(kept[0])`);
    const end = Number(await valueOf(first, "import ctypes; ctypes.CDLL(None).sbrk(0) - (1 << 17)"));
    assert(Number(await valueOf(first, searchCode(end))) >= 1000, "the search finds it where it is");
    const others = [await sessions.create({ owner: EVE, signal })];
    assertEquals(await first.life.hibernate(), true);
    others.push(await sessions.create({ owner: ADA, signal }));
    for (const other of others) {
      assertEquals(await valueOf(other, searchCode(end)), "0");
      assertEquals(await valueOf(other, "__import__('os').listdir('.')"), "[]");
    }
  });
});

Deno.test("a session leaves nothing for one that hibernated and returns to its interpreter", async () => {
  await withSessions(async (sessions) => {
    const first = await sessions.create({ owner: ADA, signal });
    await first.exec("import json, builtins, sys; safe = json.dumps({'a': 1})");
    await first.life.hibernate();
    const traps = `
import json, builtins, sys, os, gc, atexit, threading, importlib
json.dumps = lambda *a, **k: "forged"
builtins.len = lambda x: 666
builtins.open = None
sys.modules["re"] = None
sys.settrace(lambda *a: None); sys.setprofile(lambda *a: None)
gc.callbacks.append(lambda *a: os._exit(1))
os.environ["PATH"] = "forged"; os.mkdir("d"); os.chdir("d")
sys.path.insert(0, "/tmp"); open_ = __import__("io").open
open_("/tmp/math.py", "w").write("raise SystemExit")
sys.meta_path.insert(0, type("Finder", (), {"find_spec": lambda *a: (_ for _ in ()).throw(RuntimeError("forged"))})())
class Bad:
    def __del__(self): os._exit(3)
kept = Bad()`;
    for (let at = 0; at < 2; at++) await (await sessions.create({ owner: EVE, signal })).exec(traps);
    const look =
      "json.dumps({'a': 1}) == safe, len([1]), open('n', 'w').write('x'), __import__('re').__name__, " +
      "__import__('math').pi > 3, __import__('gc').callbacks, __import__('os').environ.get('PATH') != 'forged', " +
      "__import__('gc').collect() >= 0, __import__('os').path.exists('/tmp/math.py')";
    assertEquals(await valueOf(first, look), "(True, 1, 1, 're', True, [], True, True, False)");
  });
});

Deno.test("an owner that fills its room keeps no other one from hibernating", async () => {
  await withSessions(async (sessions, store) => {
    const greedy: LiveSession[] = [];
    for (let at = 0; at < 6; at++) {
      const session = await sessions.create({ owner: EVE, waitMs: 10_000, signal }).catch(() => undefined);
      if (!session) break; // its sessions find no room, and keep their interpreters
      await session.exec("import os; kept = os.urandom(1 << 20)");
      greedy.push(session);
    }
    assert(greedy.length < 6 && store.bytes("memory") <= 4 << 20);
    const honest: LiveSession[] = [];
    for (let at = 0; at < 4; at++) {
      const session = await sessions.create({ owner: ADA, signal });
      await session.exec(`own = ${at}`);
      honest.push(session);
    }
    for (const [at, session] of honest.entries()) assertEquals(await valueOf(session, "own"), String(at));
    for (const session of greedy) assertEquals(await valueOf(session, "len(kept)"), "1048576");
  }, { bytes: 4 << 20 });
});

Deno.test("a state that is larger than all room keeps its interpreter, and the session goes on", async () => {
  await withSessions(async (sessions) => {
    const session = await sessions.create({ owner: EVE, signal });
    await session.exec(
      "import os; kept = bytearray(os.urandom(8 << 20)); next_ = iter(range(9)); next(next_)",
    );
    assertEquals(await session.life.hibernate(), false);
    assertEquals(await valueOf(session, "next(next_), len(kept)"), "(1, 8388608)");
    await session.exec("kept[:] = bytes(len(kept)); del kept"); // bytes that are freed but not zero are in a state
    assertEquals(await session.life.hibernate(), true);
    assertEquals(await valueOf(session, "next(next_)"), "2");
  }, { bytes: 4 << 20 });
});
