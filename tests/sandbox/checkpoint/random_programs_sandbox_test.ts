import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { type BranchingSession, type ExecResult, loadProfile, SandboxPool } from "../../../mod/sandbox.ts";
import { withSession } from "../shared_session.ts";

const PRELUDE = `
import collections, hashlib, itertools, os, random
random.seed(11)
items, table, made = [1, 2, 3], {}, collections.deque([0])
def count():
    total = 0
    while True:
        total += (yield total) or 1
counter = count(); next(counter)
class Node:
    def __init__(self, value, link=None): self.value, self.link = value, link
head = None
log = open('log', 'a+')
`;

/** One statement of a program. They use the names of the prelude only, so that each works after each. */
const statement = fc.oneof(
  fc.integer({ min: -99, max: 99 }).map((n) => `items.append(${n})`),
  fc.string({ maxLength: 9 }).map((text) => `table[${JSON.stringify(text)}] = len(items)`),
  fc.nat(5).map((n) => `counter.send(${n})`),
  fc.constant("made.append(random.random())"),
  fc.constant("random.shuffle(items)"),
  fc.nat(9).map((n) => `head = Node(${n}, head)`),
  fc.nat(3).map((n) => `os.makedirs('d${n}/e', exist_ok=True)`),
  fc.tuple(fc.nat(4), fc.string({ maxLength: 20 })).map(([n, text]) =>
    `open('f${n}', 'a').write(${JSON.stringify(text)}.encode().hex())`
  ),
  fc.nat(4).map((n) => `os.path.exists('f${n}') and os.remove('f${n}')`),
  fc.nat(4).map((n) => `os.path.exists('f${n}') and os.utime('f${n}', (${n}, ${n}))`),
  fc.string({ maxLength: 9 }).map((text) => `log.write(${JSON.stringify(text)}.encode().hex() + '\\n')`),
  fc.constant("log.flush()"),
  fc.nat(30).map((n) => `log.flush() or log.seek(${n})`),
  fc.constantFrom("colorsys", "fractions", "statistics", "textwrap").map((name) => `import ${name}`),
  fc.nat(2).map((n) => `items.extend(itertools.islice(itertools.count(${n}), 2000))`),
  fc.constant("del items[5:]"),
  fc.constant("print(len(items), sorted(table)[:3])"),
);
const program = fc.array(statement, { minLength: 1, maxLength: 12 }).map((lines) => lines.join("\n"));

/** Everything of a session that a program can see and that does not differ from run to run. */
const OBSERVE = `
def links(node):
    while node: yield node.value; node = node.link
def files():
    for folder, folders, names in os.walk('.'):
        for name in folders + names:
            path = os.path.join(folder, name); s = os.stat(path)
            data = open(path).read() if name in names else ''
            yield path, oct(s.st_mode), s.st_ino, s.st_size, data, s.st_mtime if s.st_mtime < 9 else None
(items, table, list(made), next(counter), list(links(head)), random.getstate()[1][-1], log.tell(), id(items), id(log),
 hash('x'), list(files()))
`;

async function play(session: BranchingSession, code: string): Promise<unknown> {
  const ran = await session.exec(code);
  const seen = await session.exec(OBSERVE);
  assertEquals(seen.status, "ok", "the state can be observed");
  return [ran, seen].map((result: ExecResult) => ({ ...result, durationMs: 0 }));
}

Deno.test("a random program goes on from a checkpoint as it would have gone on without", async () => {
  const profile = await loadProfile("python");
  await using pool = new SandboxPool({ profile, size: 1, resetMode: "rewind" });
  await withSession(async (session) => {
    await fc.assert(
      fc.asyncProperty(program, program, async (before, after) => {
        await session.reset({ mode: "rewind" });
        await session.exec(PRELUDE + before);
        const checkpoint = await session.checkpoint();
        const expected = await play(session, after);
        await session.restore(checkpoint);
        assertEquals(await play(session, after), expected, "after restore()");
        await using lease = await pool.acquire({ from: checkpoint });
        assertEquals(await play(lease.session, after), expected, "in another process");
      }),
      { numRuns: 25 },
    );
  });
});
