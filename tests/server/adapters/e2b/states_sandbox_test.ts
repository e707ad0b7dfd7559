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
  "import os\ndef numbers(): yield from range(9)\nit = numbers(); next(it)\nopen('kept', 'w').write('x')";
const LOOK = "next(it), open('/home/user/kept').read(), os.environ.get('WHO')";

Deno.test("pause, fork and snapshots of E2B's sandboxes keep variables, files and generators", async () => {
  const hibernation = { store: new HibernationStore(), afterMs: 3_600_000 };
  await withPython(async (server) => {
    const id = await create(server, { envVars: { WHO: "ada" } });
    await run(server, id, START);
    const other = await create(server);
    assertEquals((await server.send("POST", `/sandboxes/${id}/pause`)).status, 204);
    assertEquals((await server.send("POST", `/sandboxes/${id}/resume`, { timeout: 600 })).status, 201);
    assertEquals(await run(server, id, LOOK), "(1, 'x', 'ada')");
    const forked = await server.send("POST", `/sandboxes/${id}/fork`, { count: 2, timeout: 600 });
    const copies: string[] = forked.body.map(({ sandbox }: { sandbox: { sandboxID: string } }) =>
      sandbox.sandboxID
    );
    assertEquals(new Set([id, other, ...copies]).size, 4);
    for (const copy of copies) assertEquals(await run(server, copy, LOOK), "(2, 'x', 'ada')");
    const { body: { snapshotID } } = await server.send("POST", `/sandboxes/${id}/snapshots`);
    assertEquals((await server.send("GET", "/snapshots")).body, [{ snapshotID, names: [] }]);
    await run(server, id, "list(it)");
    const later = await create(server, { templateID: snapshotID, envVars: { WHO: "eve" } });
    assertEquals(await run(server, later, LOOK), "(2, 'x', 'eve')");
    assertEquals((await server.send("DELETE", `/templates/${snapshotID}`)).status, 204);
    assertEquals((await server.send("DELETE", `/templates/${snapshotID}`)).status, 404);
    assertEquals((await server.send("POST", "/v2/sandboxes", { templateID: snapshotID })).status, 404);
    for (const sandbox of [id, other, later, ...copies]) {
      assertEquals((await server.send("DELETE", `/sandboxes/${sandbox}`)).status, 204);
    }
  }, { maxSessions: 4, hibernation });
});
