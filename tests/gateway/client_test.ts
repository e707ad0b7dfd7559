import { assertEquals, assertRejects } from "@std/assert";
import { PaddockClient } from "../../mod/client.ts";
import type { InteractionResult } from "../../src/rollout/interaction.ts";
import { TestGateway, TOKEN } from "./open_gateway.ts";

function clientOf(test: TestGateway): PaddockClient {
  const send = (input: Request | URL | string) => test.fetch(new Request(input));
  return new PaddockClient({ url: "http://localhost", token: TOKEN, fetch: send });
}

async function ask(test: TestGateway, { key }: { key: string }): Promise<void> {
  const body = { model: "m", messages: [{ role: "user", content: "a" }] };
  await (await test.send("/v1/chat/completions", body, { key })).text();
}

Deno.test("PaddockClient.gateway opens, rewards, forks and deletes sessions, and streams their rows", async () => {
  await using test = new TestGateway((_, count) => `reply ${count}`);
  await using client = clientOf(test);
  const { gateway } = client;
  const task = { id: "sum", answer: "5" };
  const session = await gateway.open({ task, sample: 2, sampling: { temperature: 0.5 }, idleSeconds: 60 });
  assertEquals([session.openaiUrl, session.model], ["http://localhost/v1", "tiny"]);
  await gateway.resume({ policyVersion: 3 });
  await ask(test, session);
  const [copy] = await session.fork(1);
  const rows: InteractionResult[] = [];
  const reading = (async () => {
    for await (const row of gateway.rows({ follow: true })) {
      rows.push(row);
      if (rows.length === 2) break;
    }
  })();
  const ended = await gateway.attach(session.id).reward(1, { parts: { style: 0.5 } });
  assertEquals([ended.status, ended.reward, ended.reward_parts], ["completed", 1, { style: 0.5 }]);
  if (copy !== undefined) await ask(test, copy);
  assertEquals((await copy?.state())?.forked_from, session.id);
  await copy?.delete();
  await reading;
  assertEquals(rows.map(({ reward, status, sample }) => [reward, status, sample]), [
    [1, "completed", 2],
    [null, "aborted", 2],
  ]);
  assertEquals(await session.rows(), [rows[0]]);
  assertEquals(await Array.fromAsync(gateway.rows()), [rows[0]], "the deleted one is forgotten");
  const [forTrl] = await Array.fromAsync(gateway.rowsFor("trl"));
  assertEquals([forTrl?.id, forTrl?.reward], [session.id, 1]);
  const [forVerl] = await Array.fromAsync(gateway.rowsFor("verl"));
  assertEquals(forVerl?.reward_score, 1);
  assertEquals((await gateway.sessions()).map(({ id }) => id), [session.id]);
  await assertRejects(() => session.reward(0), Error, "has ended");
  await gateway.pause();
  await gateway.resume();
  assertEquals((await gateway.stats()).turns, 1);
  await session[Symbol.asyncDispose]();
  await session.delete();
  assertEquals(await gateway.sessions(), []);
});
