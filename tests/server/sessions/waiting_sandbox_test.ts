import { assertEquals, assertRejects } from "@std/assert";
import { z } from "zod";
import { hostTool, PaddockClient, WaitingExecError } from "../../../mod/client.ts";
import { HibernationStore } from "../../../src/server/hibernation/hibernation_store.ts";
import { withPython } from "../with_python.ts";

const ask = hostTool({
  name: "ask",
  description: "Asks a person.",
  parameters: z.object({ q: z.string() }),
  run: () => {
    throw new Error("it must not run");
  },
});
const CODE = "from paddock import tools\nimport uuid\nkey = uuid.uuid4().hex\n" +
  "[tools.ask(q=key) for _ in range(2)] + [tools.ask(q=key)]";

Deno.test("a program that waits leaves its interpreter to others, and goes on in any", async () => {
  const store = new HibernationStore();
  await withPython(async (server) => {
    const fetch = (request: Request) => server.app.fetch(request);
    await using client = new PaddockClient({ url: "http://localhost", fetch });
    await using lease = await client.acquire({ tools: [ask] });
    const path = `/v1/sessions/${lease.id}`;
    const first = await lease.session.exec(CODE, { suspendAt: "tool" });
    if (first.status !== "waiting") throw new Error(JSON.stringify(first));
    const { q } = first.call.arguments;

    await using _other = await client.acquire(); // there is one interpreter
    assertEquals(store.count(), 1);
    assertEquals((await server.send("GET", path)).body.waiting, first.call);
    const fork = await server.send("POST", `${path}/fork`, { count: 1 });
    assertEquals([fork.status, fork.body.error.reason], [409, "exec_waiting"]);
    const attached = client.attach(lease.id).session;
    assertEquals(await attached.waitingCall(), first.call);
    await assertRejects(() => attached.exec("1"), WaitingExecError, "resume or reset");
    await assertRejects(
      () => attached.resume({ value: 1 }, { callId: "call_9" }),
      WaitingExecError,
      "'call_1'",
    );

    for (const callId of ["call_2", "call_3"]) {
      const next = await attached.resume({ value: callId });
      assertEquals(next.status === "waiting" && next.call, { callId, name: "ask", arguments: { q } });
      await using _another = await client.acquire();
    }
    const end = await attached.resume({ value: null });
    assertEquals(end.status === "ok" && end.valueJson, ["call_2", "call_3", null]);
    assertEquals(await attached.waitingCall(), undefined);
    assertEquals((await server.send("GET", path)).body.execs, 1);
    const late = await server.send("POST", `${path}/resume`, { callId: "call_3", value: 1 });
    assertEquals([late.status, late.body.error.reason], [409, "exec_not_waiting"]);
  }, { maxSessions: 1, hibernation: { store, afterMs: 3_600_000 } });
});

Deno.test("a call that waits and its answers keep all digits of integers, also after hibernation", async () => {
  const measure = {
    name: "measure",
    description: "",
    parameters: { type: "object", properties: { n: { type: "integer" } } },
    run: () => null,
  };
  await withPython(async (server) => {
    const fetch = (request: Request) => server.app.fetch(request);
    await using client = new PaddockClient({ url: "http://localhost", fetch });
    await using lease = await client.acquire({ tools: [measure] });
    const code = "from paddock import tools\n[tools.measure(n) for n in (2**64 + 1, 2**60)]";
    const first = await lease.session.exec(code, { suspendAt: "tool" });
    const expected = { callId: "call_1", name: "measure", arguments: { n: 2n ** 64n + 1n } };
    assertEquals(first.status === "waiting" && first.call, expected);
    {
      await using _other = await client.acquire();
      assertEquals(await lease.session.waitingCall(), expected);
    }
    const second = await lease.session.resume({ value: 2n ** 70n });
    assertEquals(second.status === "waiting" && second.call.arguments, { n: 2 ** 60 });
    await assertRejects(
      () => lease.session.resume({ value: new Uint8Array(1) }),
      TypeError,
      "must be JSON for a server: found bytes",
    );
    const end = await lease.session.resume({ value: { n: [2 ** 60, -(2n ** 63n) - 1n] } });
    assertEquals(
      end.status === "ok" && end.value,
      `[${2n ** 70n}, {'n': [${2n ** 60n}, ${-(2n ** 63n) - 1n}]}]`,
    );
    const path = `/v1/sessions/${lease.id}/resume`;
    const wrong = await server.send("POST", path, '{"value": 1e999}');
    assertEquals(wrong.status, 400);
  }, { maxSessions: 1, hibernation: { store: new HibernationStore(), afterMs: 3_600_000 } });
});

Deno.test("requests that suspend or resume a program are checked", async () => {
  await withPython(async (server) => {
    const { body: { id } } = await server.send("POST", "/v1/sessions", {});
    const post = async (path: string, body: object) => (await server.send("POST", path, body)).status;
    assertEquals(await post(`/v1/sessions/${id}/exec`, { code: "1", suspendAt: "call" }), 422);
    assertEquals(await post("/v1/exec", { code: "1", suspendAt: "tool" }), 422);
    assertEquals(await post(`/v1/sessions/${id}/resume`, {}), 422);
    assertEquals(await post(`/v1/sessions/${id}/resume`, { value: 1, error: { message: "" } }), 422);
    assertEquals(await post(`/v1/sessions/${id}/resume`, { value: 1 }), 409);
  });
});
