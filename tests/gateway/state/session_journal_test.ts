import { assert, assertEquals, assertRejects } from "@std/assert";
import { JournalFolder, JournalInUseError } from "../../../src/gateway/state/session_journal.ts";
import { TempFolder } from "../../temp_folder.ts";
import { requireExact } from "../exact_rows.ts";
import { TestGateway } from "../open_gateway.ts";
import type { Sampled } from "../scripted_model.ts";

const CHAT = "/v1/chat/completions";
const user = (content: string) => ({ role: "user", content });
const said = (content: string) => ({ role: "assistant", content });

/** A gateway with the journals of a folder. It stops as one that is killed: nothing is written at the end. */
async function withJournals(path: string, use: (test: TestGateway) => Promise<void>): Promise<void> {
  using journals = await JournalFolder.open(path);
  await using test = new TestGateway((_, count) => `reply ${count}`, { journals });
  await test.gateway.restore({ onError: (error) => assert(false, String(error)) });
  await use(test);
}

Deno.test("a gateway continues the sessions of its state folder with the same keys, rows and repeated answers", async () => {
  await using folder = await TempFolder.of();
  const sampled: Sampled[] = [];
  let session = { id: "", key: "" };
  let openedAt = "";
  let ended = { id: "", key: "" };
  const ask = async (test: TestGateway, messages: object[], key: string) => {
    const { choices: [{ message }] } = await (await test.send(CHAT, { model: "m", messages }, { key }))
      .json();
    return message.content;
  };
  await withJournals(folder.path, async (test) => {
    session = await test.open({ task: { id: "t" }, sampling: { temperature: 0.25 } });
    ended = await test.open({ task: { id: "ended" } });
    const deleted = await test.open({ task: { id: "deleted" } });
    await ask(test, [user("a")], session.key);
    await ask(test, [user("a"), said("reply 1"), user("b")], session.key);
    await ask(test, [user("title")], session.key);
    await ask(test, [user("x")], ended.key);
    await test.send(`/v1/gateway/sessions/${ended.id}/reward`, { reward: 0.5 });
    await test.send(`/v1/gateway/sessions/${deleted.id}`, undefined, { method: "DELETE" });
    openedAt = (await (await test.send(`/v1/gateway/sessions/${session.id}`)).json()).created_at;
    sampled.push(...test.model.sampled);
  });
  await withJournals(folder.path, async (test) => {
    const again = await (await test.send(`/v1/gateway/sessions/${session.id}`)).json();
    assertEquals(again.created_at, openedAt);
    const { sessions } = await (await test.send("/v1/gateway/sessions")).json();
    assertEquals(
      sessions.map(({ task_id, status, turns }: Record<string, unknown>) => [task_id, status, turns])
        .toSorted(),
      [
        ["ended", "completed", 1],
        ["t", "open", 3],
      ],
    );
    assertEquals(
      await ask(test, [user("title")], session.key),
      "reply 3",
      "the answer may not have been delivered",
    );
    assertEquals(test.model.sampled, []);
    await ask(test, [user("a"), said("reply 1"), user("b"), said("reply 2"), user("c")], session.key);
    assertEquals(test.model.sampled[0]?.body.sampling_params.temperature, 0.25);
    await test.send(`/v1/gateway/sessions/${session.id}/reward`, { reward: 1 });
    const rows = [...await test.rowsOf(session.id), ...await test.rowsOf(ended.id)];
    requireExact(rows, [...sampled, ...test.model.sampled]);
    assertEquals(rows.map(({ reward, turns }) => [reward, turns.length]), [[1, 3], [1, 1], [0.5, 1]]);
    assertEquals(test.rows.length, 2, "the rows of the session that had ended are not reported again");
  });
});

Deno.test("a journal drops a last line that was not written to its end, and a folder has one gateway", async () => {
  await using folder = await TempFolder.of();
  let id = "";
  await withJournals(folder.path, async (test) => {
    const session = await test.open();
    id = session.id;
    await (await test.send(CHAT, { model: "m", messages: [user("a")] }, { key: session.key })).text();
    await assertRejects(() => JournalFolder.open(folder.path), JournalInUseError);
  });
  const path = `${folder.path}/${id}.jsonl`;
  await Deno.writeTextFile(path, '{"turn": {"hal', { append: true });
  await withJournals(folder.path, async (test) => {
    assertEquals((await test.rowsOf(id)).map(({ turns, status }) => [turns.length, status]), [[
      1,
      "aborted",
    ]]);
  });
  assert(!(await Deno.readTextFile(path)).includes('"hal'));
});

Deno.test("a fork of a fork continues after a restart, with the ids that its origins have sampled", async () => {
  await using folder = await TempFolder.of();
  const sampled: Sampled[] = [];
  const opened: { id: string; key: string }[] = [];
  const ask = async (test: TestGateway, messages: object[], { key }: { key: string }) => {
    const response = await test.send(CHAT, { model: "m", messages }, { key });
    return (await response.json()).choices[0].message.content;
  };
  const chat = [user("a"), said("reply 1"), user("b"), said("reply 2"), user("c")];
  await withJournals(folder.path, async (test) => {
    const first = await test.open();
    opened.push(first);
    for (const length of [1, 3]) {
      await ask(test, chat.slice(0, length), opened.at(-1) ?? first);
      const path = `/v1/gateway/sessions/${opened.at(-1)?.id}/fork`;
      const { sessions: [copy] } = await (await test.send(path, {})).json();
      opened.push(copy);
    }
    sampled.push(...test.model.sampled);
  });
  await withJournals(folder.path, async (test) => {
    const [first, second, third] = opened;
    assert(first && second && third);
    assertEquals(await ask(test, chat, third), "reply 1", "the scripted model counts from 1 again");
    const rows = (await Promise.all(opened.map(({ id }) => test.rowsOf(id)))).flat();
    requireExact(rows, [...sampled, ...test.model.sampled]);
    assertEquals(rows.map(({ id, parent }) => [id, parent]), [
      [first.id, undefined],
      [second.id, { id: first.id, turn: 2 }],
      [third.id, { id: second.id, turn: 3 }],
    ]);
  });
});
