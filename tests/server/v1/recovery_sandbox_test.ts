import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { childrenOf, isAlive } from "../../../bench/processes.ts";
import { Serving } from "../../../bench/serving.ts";
import { PaddockClient } from "../../../mod/client.ts";
import type { Served } from "../served.ts";
import { withPython } from "../with_python.ts";

const LOSE = "lost = 1; import os; os._exit(3)";
const START = "import os\ndef numbers(): yield from range(100)\nit = numbers(); next(it)";

async function open(server: Served, body: object): Promise<string> {
  const created = await server.send("POST", "/v1/sessions", body);
  assertEquals(created.status, 201, JSON.stringify(created.body));
  return created.body.id;
}

async function exec(server: Served, id: string, code: string) {
  return (await server.send("POST", `/v1/sessions/${id}/exec`, { code })).body;
}

Deno.test("a session with checkpointEvery continues its last checkpoint after a crash", async (t) => {
  await withPython(async (server) => {
    const created = await server.send("POST", "/v1/sessions", { checkpointEvery: "exec" });
    assertEquals([created.status, created.body.checkpointEvery], [201, "exec"]);
    const id = created.body.id;
    await exec(server, id, START);
    const isContinued = async (expected: number) => {
      const { value, restoredFrom, restarted } = await exec(server, id, "next(it), 'lost' in globals()");
      assertEquals([value, restoredFrom, restarted], [`(${expected}, False)`, undefined, undefined]);
    };
    await t.step("of a program", async () => {
      const { status, stateKept, restoredFrom, exitCode } = await exec(server, id, LOSE);
      assertEquals([status, exitCode, stateKept, restoredFrom.lostCalls], ["crashed", 3, true, 0]);
      assert(restoredFrom.ageMs >= 0);
      await isContinued(1);
    });
    await t.step("of a program that is streamed", async () => {
      const { body } = await server.send("POST", `/v1/sessions/${id}/stream`, { code: LOSE });
      assertStringIncludes(body, '"restoredFrom":{"lostCalls":0');
      await isContinued(2);
    });
    await t.step("of a program of a batch", async () => {
      const items = [{ code: LOSE, session: id }];
      const { body } = await server.send("POST", "/v1/exec:batch", { items });
      assertEquals([body.results[0].result.stateKept, body.results[0].result.restoredFrom.lostCalls], [
        true,
        0,
      ]);
      await isContinued(3);
    });
    await t.step("that a request for files has met", async () => {
      const lose =
        "import builtins, os\ntrue_open = open\nclass Once:\n  def __call__(self, *a, **k): os._exit(1)";
      await exec(server, id, `${lose}\nimport json; json.dumps = Once()`);
      assertEquals((await server.send("GET", `/v1/sessions/${id}/files`)).status, 409);
      const { value, restoredFrom } = await exec(server, id, "next(it)");
      assertEquals([value, restoredFrom.lostCalls], ["4", 0]);
    });
    const { body } = await server.send("GET", `/v1/sessions/${id}`);
    assertEquals(body.checkpointEvery, "exec");
  });
});

Deno.test("checkpointEvery works with a seed, and with a checkpoint to start from", async () => {
  await withPython(async (server) => {
    const code = "import os; os.urandom(4)";
    const values = [];
    for (let round = 0; round < 2; round++) {
      const seeded = await open(server, { seed: 7, checkpointEvery: "exec" });
      values.push((await exec(server, seeded, code)).value);
      await exec(server, seeded, "kept = 1");
      await exec(server, seeded, LOSE);
      assertEquals((await exec(server, seeded, "kept")).value, "1");
      await server.send("DELETE", `/v1/sessions/${seeded}`);
    }
    assertEquals(values[0], values[1]);
    const parent = await open(server, {});
    await exec(server, parent, START);
    const { body: { id: from } } = await server.send("POST", `/v1/sessions/${parent}/checkpoint`);
    const id = await open(server, { from, checkpointEvery: 3600 });
    await exec(server, id, "next(it)");
    const { stateKept, restoredFrom } = await exec(server, id, LOSE);
    assertEquals([stateKept, restoredFrom.lostCalls], [true, 1]);
    assertEquals((await exec(server, id, "next(it), 'lost' in globals()")).value, "(1, False)");
  });
});

Deno.test("the next session of an interpreter has no checkpoints, and copies do not inherit them", async () => {
  await withPython(async (server) => {
    const bytes = async () =>
      Number((await server.send("GET", "/metrics")).body.match(/^paddock_checkpoint_bytes (\d+)$/m)?.[1]);
    const first = await open(server, { checkpointEvery: "exec" });
    await exec(server, first, "x = 1");
    assert(await bytes() > 0, "they count");
    const { body: { sessions: [copy] } } = await server.send("POST", `/v1/sessions/${first}/fork`, {});
    assertEquals(copy.checkpointEvery, undefined);
    assertEquals((await exec(server, copy.id, LOSE)).stateKept, false);
    for (const id of [first, copy.id]) await server.send("DELETE", `/v1/sessions/${id}`);
    const second = await open(server, {});
    assertEquals((await exec(server, second, LOSE)).stateKept, false);
    assertEquals(await bytes(), 0);
  });
});

Deno.test("a session without room for a checkpoint keeps the one before, and says what is lost", async () => {
  await withPython(async (server) => {
    const id = await open(server, { checkpointEvery: "exec" });
    await exec(server, id, "x = 1");
    await exec(server, id, "import random; big = random.randbytes(3 << 20)");
    const { stateKept, restoredFrom } = await exec(server, id, LOSE);
    assertEquals([stateKept, restoredFrom.lostCalls], [true, 1]);
    assertEquals((await exec(server, id, "x, 'big' in globals()")).value, "(1, False)");
    const other = await open(server, {});
    await exec(server, other, "import random; big = random.randbytes(3 << 20)");
    const { status } = await server.send("POST", `/v1/sessions/${other}/checkpoint`);
    assertEquals(status, 413);
  }, { checkpointLimits: { bytes: 1 << 20 } });
});

Deno.test({
  name: "PaddockClient continues a session whose sandbox process was killed",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using serving = await Serving.start("--max-sessions", "1");
    await using client = new PaddockClient({ url: serving.url });
    await using lease = await client.acquire({ checkpointEvery: "exec" });
    const { session } = lease;
    await session.exec(`${START}\nopen('kept', 'w').write('x')`);
    const kill = async () => {
      const pids = await childrenOf(serving.child.pid); // that of the session, and a spare one
      for (const pid of pids) Deno.kill(pid, "SIGKILL");
      return pids;
    };
    const killed: Promise<number[]>[] = [];
    const lost = await session.exec("lost = 1\nprint('runs', flush=True)\nwhile True: pass", {
      onOutput: () => void (killed.length === 0 && killed.push(kill())),
    });
    assertEquals([lost.status, lost.stateKept, lost.restoredFrom?.lostCalls], ["crashed", true, 0]);
    const look = "next(it), open('kept').read(), 'lost' in globals()";
    const next = await session.exec(look);
    assertEquals([next.status === "ok" && next.value, next.restoredFrom], ["(1, 'x', False)", undefined]);
    const pids = await kill(); // between two requests
    const earlier = await killed[0];
    assertEquals(pids.filter((pid) => earlier?.includes(pid)), []);
    for (const pid of pids) while (await isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
    const results = [await session.exec(look)];
    if (results[0]?.status === "crashed") results.push(await session.exec(look)); // the server had not noticed it
    const last = results.at(-1);
    assertEquals(last?.status === "ok" && last.value, "(2, 'x', False)");
    const reports = results.filter(({ restoredFrom }) => restoredFrom);
    assertEquals(reports.map(({ stateKept, restoredFrom }) => [stateKept, restoredFrom?.lostCalls]), [[
      true,
      0,
    ]]);
  },
});
