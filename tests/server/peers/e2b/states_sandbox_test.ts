import { assertEquals } from "@std/assert";
import { HibernationStore } from "../../../../src/server/hibernation/hibernation_store.ts";
import type { Served } from "../../served.ts";
import { withPython } from "../../with_python.ts";

async function create(server: Served, body: object = {}): Promise<string> {
  const created = await server.send("POST", "/v2/sandboxes", { timeout: 600, ...body });
  assertEquals(created.status, 201, JSON.stringify(created.body));
  return created.body.sandboxID;
}

/** Runs a program in a sandbox, and returns the text of its value. */
async function run(server: Served, id: string, code: string): Promise<string | undefined> {
  const { body } = await server.send("POST", "/execute", { code }, { "e2b-sandbox-id": id });
  const events = String(body).trim().split("\n").map((line) => JSON.parse(line));
  return events.find(({ type }) => type === "result")?.text;
}

const START =
  "import os\ndef numbers(): yield from range(9)\nit = numbers(); next(it)\nopen('kept', 'w').write('x')\nos.umask(0o77); os.chdir('/tmp'); os.environ['HOME'] = '/tmp'";
const LOOK =
  "next(it), open('/home/user/kept').read(), os.environ.get('WHO'), os.umask(0o77), os.getcwd(), os.environ['HOME']";
const PLACE = "63, '/tmp', '/tmp'";

Deno.test("pause, fork and snapshots of E2B's sandboxes keep variables, files and generators", async () => {
  const hibernation = { store: new HibernationStore(), afterMs: 3_600_000 };
  await withPython(async (server) => {
    const id = await create(server, { envVars: { WHO: "ada" } });
    await run(server, id, START);
    const other = await create(server);
    assertEquals((await server.send("POST", `/sandboxes/${id}/pause`)).status, 204);
    assertEquals((await server.send("POST", `/sandboxes/${id}/resume`, { timeout: 600 })).status, 201);
    assertEquals(await run(server, id, LOOK), `(1, 'x', 'ada', ${PLACE})`);
    const forked = await server.send("POST", `/sandboxes/${id}/fork`, { count: 2, timeout: 600 });
    const copies: string[] = forked.body.map(({ sandbox }: { sandbox: { sandboxID: string } }) =>
      sandbox.sandboxID
    );
    assertEquals(new Set([id, other, ...copies]).size, 4);
    for (const copy of copies) assertEquals(await run(server, copy, LOOK), `(2, 'x', 'ada', ${PLACE})`);
    const { body: { snapshotID } } = await server.send("POST", `/sandboxes/${id}/snapshots`);
    assertEquals((await server.send("GET", "/snapshots")).body, [{ snapshotID, names: [] }]);
    await run(server, id, "list(it)");
    const later = await create(server, { templateID: snapshotID, envVars: { WHO: "eve" } });
    assertEquals(await run(server, later, LOOK), `(2, 'x', 'eve', ${PLACE})`);
    assertEquals((await server.send("DELETE", `/templates/${snapshotID}`)).status, 204);
    assertEquals((await server.send("DELETE", `/templates/${snapshotID}`)).status, 404);
    assertEquals((await server.send("POST", "/v2/sandboxes", { templateID: snapshotID })).status, 404);
    for (const sandbox of [id, other, later, ...copies]) {
      assertEquals((await server.send("DELETE", `/sandboxes/${sandbox}`)).status, 204);
    }
  }, { maxSessions: 4, hibernation });
});

Deno.test("without memory, E2B's sandboxes keep their files and get a fresh interpreter", async () => {
  const hibernation = { store: new HibernationStore(), afterMs: 3_600_000 };
  await withPython(async (server) => {
    const id = await create(server, { envVars: { WHO: "ada" } });
    const post = async (path: string, body: object) =>
      (await server.send("POST", `/sandboxes/${id}/${path}`, body)).status;
    const look = "'it' in globals(), open('kept').read(), os.environ['WHO'], os.getcwd()";
    const fresh = "(False, 'x', 'ada', '/home/user')";
    await run(server, id, `import os; os.mkdir('/tmp/d'); ${START}\nos.chdir('/tmp/d')`);
    assertEquals([await post("pause", { memory: false }), await post("connect", { timeout: 600 })], [
      204,
      201,
    ]);
    assertEquals(await run(server, id, `import os; ${look}`), fresh);
    await run(server, id, "it = 1; os.chdir('/tmp/d')");
    assertEquals([await post("pause", {}), await post("resume", { memory: false })], [204, 201]);
    assertEquals(await run(server, id, `import os; ${look}`), fresh);
    await run(server, id, "it = 2; os.chdir('/tmp/d')");
    const { body: { snapshotID } } = await server.send("POST", `/sandboxes/${id}/snapshots`, {
      memory: false,
    });
    const later = await create(server, { templateID: snapshotID, envVars: { WHO: "ada" } });
    assertEquals(await run(server, later, `import os; ${look}`), fresh);
    assertEquals(await run(server, id, "it, os.getcwd()"), "(2, '/tmp/d')");
  }, { maxSessions: 4, hibernation });
});

/** Opens copies by a request, and returns their ids. */
async function fork(server: Served, path: string, body: object = {}): Promise<string[]> {
  const forked = await server.send("POST", path, { timeout: 600, ...body });
  assertEquals(forked.status, 201, JSON.stringify(forked.body));
  return forked.body.map(({ sandbox }: { sandbox: { sandboxID: string } }) => sandbox.sandboxID);
}

Deno.test("fork copies a paused sandbox of E2B, which stays paused and keeps its own state", async () => {
  const hibernation = { store: new HibernationStore(), afterMs: 3_600_000 };
  await withPython(async (server) => {
    const id = await create(server, { envVars: { WHO: "ada" } });
    const pause = async (body: object = {}) =>
      assertEquals((await server.send("POST", `/sandboxes/${id}/pause`, body)).status, 204);
    await run(server, id, START);
    await pause();
    const copies = await fork(server, `/sandboxes/${id}/fork`, { count: 2 });
    assertEquals((await server.send("GET", `/sandboxes/${id}`)).body.state, "paused");
    const random: unknown[] = [];
    for (const copy of copies) {
      assertEquals((await server.send("GET", `/sandboxes/${copy}`)).body.state, "running");
      assertEquals(await run(server, copy, LOOK), `(1, 'x', 'ada', ${PLACE})`);
      random.push(await run(server, copy, "import random; random.random()"));
    }
    assertEquals(new Set(random).size, 2);
    await server.send("POST", `/sandboxes/${id}/resume`, { timeout: 600 });
    assertEquals(await run(server, id, LOOK), `(1, 'x', 'ada', ${PLACE})`);

    await pause();
    const snapshot = await server.send("POST", `/sandboxes/${id}/snapshots`, { name: "asleep" });
    assertEquals([snapshot.status, snapshot.body.names], [201, ["asleep:default"]]);
    const files = await server.send("POST", `/sandboxes/${id}/snapshots`, { name: "files", memory: false });
    assertEquals([files.status, files.body.names], [201, ["files:default"]]);
    assertEquals((await server.send("GET", `/sandboxes/${id}`)).body.state, "paused");
    const anew = await create(server, { templateID: "files", envVars: { WHO: "eve" } });
    const look = "'it' in globals(), open('kept').read(), __import__('os').environ['WHO']";
    assertEquals(await run(server, anew, look), "(False, 'x', 'eve')");
    await server.send("DELETE", `/sandboxes/${anew}`);
    const later = await create(server, { templateID: "asleep", envVars: { WHO: "eve" } });
    assertEquals(await run(server, later, LOOK), `(2, 'x', 'eve', ${PLACE})`);
    await server.send("DELETE", `/sandboxes/${later}`);
    await server.send("POST", `/sandboxes/${id}/resume`, { timeout: 600 });

    await pause({ memory: false });
    const [bare = ""] = await fork(server, `/sandboxes/${id}/fork`);
    assertEquals(await run(server, bare, look), "(False, 'x', 'ada')");
    const count = (await server.send("GET", "/v2/sandboxes")).body.length;
    const kept = await server.send("POST", `/sandboxes/${id}/snapshots`);
    assertEquals([kept.status, (await server.send("GET", `/sandboxes/${id}`)).body.state], [201, "paused"]);
    assertEquals((await server.send("GET", "/v2/sandboxes")).body.length, count);
    const started = await create(server, { templateID: kept.body.snapshotID, envVars: { WHO: "eve" } });
    assertEquals(await run(server, started, look), "(False, 'x', 'eve')");
    await server.send("DELETE", `/sandboxes/${started}`);
    for (const sandbox of [id, bare, ...copies]) await server.send("DELETE", `/sandboxes/${sandbox}`);
  }, { maxSessions: 2, hibernation });
});

Deno.test("fork copies a snapshot of E2B by its id or name, with and without hibernation", async () => {
  const hibernation = { store: new HibernationStore(), afterMs: 3_600_000 };
  for (const options of [{ maxSessions: 2, hibernation }, { maxSessions: 4 }]) {
    await withPython(async (server) => {
      const id = await create(server, { envVars: { WHO: "ada" } });
      await run(server, id, START);
      const { body: { snapshotID } } = await server.send("POST", `/sandboxes/${id}/snapshots`, {
        name: "team/base:v2",
      });
      await server.send("DELETE", `/sandboxes/${id}`);
      const paths = [
        `/snapshots/${snapshotID}/fork`,
        `/sandboxes/${snapshotID}/fork`,
        "/snapshots/team%2Fbase:v2/fork",
        "/sandboxes/team%2Fbase:v2/fork",
      ];
      for (const path of paths) {
        const copies = await fork(server, path, { count: 2 });
        const random: unknown[] = [];
        for (const copy of copies) {
          assertEquals(await run(server, copy, LOOK), `(1, 'x', 'ada', ${PLACE})`);
          random.push(await run(server, copy, "import random; random.random()"));
        }
        assertEquals(new Set(random).size, 2, path);
        const { body: list } = await server.send("GET", "/v2/sandboxes");
        assertEquals(list.length, 2); // the one through which they were opened has ended
        for (const copy of copies) await server.send("DELETE", `/sandboxes/${copy}`);
      }
    }, options);
  }
});

Deno.test("snapshots of E2B have names and sandboxes, and are listed in pages", async () => {
  await withPython(async (server) => {
    const id = await create(server);
    const other = await create(server);
    const snap = async (sandbox: string, body: object = {}) => {
      await run(server, sandbox, "x = object()");
      return await server.send("POST", `/sandboxes/${sandbox}/snapshots`, body);
    };
    const list = async (query: string) => {
      const { status, body } = await server.send("GET", `/snapshots${query}`);
      assertEquals(status, 200);
      return body.map(({ snapshotID }: { snapshotID: string }) => snapshotID);
    };
    await run(server, id, "x = 'first'");
    const { body: first } = await snap(id, { name: "team/base_1" });
    const { body: second } = await snap(other);
    const { body: third } = await snap(id, { name: "late:v2" });
    assertEquals([first.names, second.names, third.names], [["team/base_1:default"], [], ["late:v2"]]);
    assertEquals(await list(""), [third, second, first].map(({ snapshotID }) => snapshotID));
    assertEquals(await list(`?sandboxID=${id}`), [third.snapshotID, first.snapshotID]);
    assertEquals(await list("?name=team%2Fbase_1"), [first.snapshotID]);
    assertEquals([await list("?name=late"), await list("?name=late:v2")], [[], [third.snapshotID]]);
    assertEquals(await list(`?name=${second.snapshotID}`), [second.snapshotID]);
    const page = await server.app.request("/snapshots?limit=2");
    const token = page.headers.get("x-next-token") ?? "";
    assertEquals((await page.json()).length, 2);
    assertEquals(await list(`?limit=2&nextToken=${token}`), [first.snapshotID]);

    const { body: moved } = await snap(id, { name: "team/base_1:default" });
    assertEquals(await list("?name=team%2Fbase_1"), [moved.snapshotID]);
    const { body: long } = await snap(id, { name: "a".repeat(128) });
    assertEquals((await server.send("DELETE", `/templates/${long.snapshotID}`)).status, 204);
    const named = await create(server, { templateID: "team/base_1" });
    assertEquals(await run(server, named, "type(x).__name__"), "object");
    assertEquals((await server.send("DELETE", "/templates/team%2Fbase_1")).status, 204);
    assertEquals((await server.send("DELETE", "/templates/team%2Fbase_1")).status, 404);
    assertEquals(await list(""), [third, second, first].map(({ snapshotID }) => snapshotID));
    const fresh = await create(server, { templateID: "team/base_1" });
    assertEquals(await run(server, fresh, "'x' in globals()"), "False");
    for (const name of ["", "a b", "a:b:c", "a".repeat(129), "0".repeat(64)]) {
      assertEquals((await server.send("POST", `/sandboxes/${id}/snapshots`, { name })).status, 400, name);
    }
  }, { maxSessions: 4 });
});
