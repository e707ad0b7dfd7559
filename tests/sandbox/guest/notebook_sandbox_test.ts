import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { loadProfile, type Session } from "../../../mod/sandbox.ts";
import { withSession } from "../shared_session.ts";
import { traceback, value } from "../started.ts";
import SESSIONS from "./notebook_cells.json" with { type: "json" };

interface Shown {
  readonly stdout: string;
  readonly value: string | null;
  readonly error: string | null;
}

/** Runs a cell. Returns what it showed, without addresses, in the form of notebook_cells.json. */
async function run(session: Session, code: string): Promise<Shown> {
  const result = await session.exec(code, { cell: true, timeoutMs: 60_000 });
  const toShown = (text: string) =>
    text.replaceAll("/home/pyodide", "<home>").replaceAll(/0x[0-9a-f]+/g, "0x0");
  const error = "error" in result ? result.error.type : result.status === "exited" ? "SystemExit" : null;
  const value = result.status === "ok" && result.value !== undefined ? toShown(result.value) : null;
  return { stdout: toShown(result.stdout), value, error };
}

for (const { name, cells } of SESSIONS) {
  Deno.test(`cells show what IPython's kernel shows: ${name}`, async () => {
    const profile = await loadProfile("workspace");
    await withSession(async (session) => {
      const found = [];
      for (const { code } of cells) found.push({ code, ...await run(session, code) });
      assertEquals(found, cells as unknown);
    }, { profile });
  });
}

Deno.test("cells report how long code takes, and what a profile lacks", async () => {
  await withSession(async (session) => {
    const found = async (code: string) => await session.exec(code, { cell: true });
    assertMatch(
      (await found("%%time\nawait __import__('asyncio').sleep(0)\n5;")).stdout,
      /^CPU times: user .*s, sys: 0 ns, total: .*s\nWall time: .*s\n$/,
    );
    assertEquals(value(await found("%time 2 + 3")), "5");
    assertMatch(
      (await found("%timeit -n 10 -r 3 pass")).stdout,
      /^[\d.]+ \S+ ± [\d.]+ \S+ per loop \(mean ± std\. dev\. of 3 runs, 10 loops each\)\n$/,
    );
    assertMatch(
      (await found("def f():\n    return sum(range(9))\n%prun -s cumulative -l 5 f()")).stdout,
      /\d+ function calls in [\d.]+ seconds\n[^]*Ordered by: cumulative time\n[^]*\(f\)\n/,
    );
    assertStringIncludes((await found("%%prun -l f\nx = f()\nf()")).stdout, "        2    0.0");
    assertEquals(value(await found("x")), "36");
    for (const line of ["%load a.py", "%store x", "%debug", "%edit", "%prun -Z f()"]) {
      const report = traceback(await found(line));
      assertMatch(report, /UsageError: %\w+ (needs|has) .*\n$/);
    }
    assertEquals((await found("%matplotlib inline\nprint('ok')")).stdout, "ok\n");
    assertStringIncludes(
      traceback(await found("!ls")),
      `OSError: Cannot run command 'ls' as profile "python" must have 'shell'`,
    );
    assertStringIncludes(
      (await found("%pip install numpy")).stderr,
      'ERROR: Cannot install numpy as a sandbox has no network: profile "python" must have the package: paddock packages add numpy',
    );
    assertStringIncludes((await found("def f(a):\n  '''Doubles.'''\n  return 2 * a\nf?")).stdout, "f(a)");
    assertStringIncludes((await found("f??")).stdout, "return 2 * a");
  });
});

Deno.test("a plain program has no names of a notebook, and its values are on one line", async () => {
  await withSession(async (session) => {
    const code =
      "[name for name in ('In', 'Out', '_', 'get_ipython') if name in {**globals(), **vars(__builtins__)}]";
    assertEquals(value(await session.exec(code)), "[]");
    const long = "['x' * 30, 'y' * 60]";
    const [x, y] = ["x".repeat(30), "y".repeat(60)];
    assertEquals(value(await session.exec(long)), `['${x}', '${y}']`);
    assertEquals(value(await session.exec(long, { cell: true })), `['${x}',\n '${y}']`);
  });
});

Deno.test("a cell that is interrupted leaves a session that goes on, with its tasks", async () => {
  await withSession(async (session) => {
    const cell = (code: string, timeoutMs = 10_000) => session.exec(code, { cell: true, timeoutMs });
    await cell(
      "import asyncio\nasync def f():\n  await asyncio.sleep(0.05)\n  return 5\nt = asyncio.create_task(f())",
    );
    assertEquals((await cell("while True: pass", 300)).status, "timeout");
    assertEquals((await cell("await asyncio.sleep(60)", 300)).status, "timeout");
    assertEquals(value(await cell("await t")), "5");
  });
});

Deno.test("Session.exec() refuses 'cell' together with 'argv', and other values", async () => {
  await withSession(async (session) => {
    await assertRejects(() => session.exec("1", { cell: true, argv: ["a.py"] }), TypeError, "found both");
    await assertRejects(
      () => session.exec("1", { cell: "yes" as unknown as boolean }),
      TypeError,
      "'cell' must be a boolean",
    );
  });
});
