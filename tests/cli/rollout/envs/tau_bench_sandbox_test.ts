import { assertEquals, assertStringIncludes } from "@std/assert";
import { makeOddCheckout } from "../../../envs/tau_bench/faulty_domain.ts";
import { completion, FakeServer } from "../../../policy/fake_server.ts";
import { tinyTokenizer, tinyTokenizerFiles } from "../../../tiny_tokenizer.ts";
import { runPaddock } from "../../run_paddock.ts";

const DESK = decodeURIComponent(new URL("../../../../examples/library_desk", import.meta.url).pathname);
const PLAYED = ["--path", DESK, "--domain", "library_desk"];
const USER = ["--user", `scripted:${DESK}/users.jsonl`];
const POLICY = ["--policy", `scripted:${DESK}/policy.jsonl`];
/** One interpreter, where no episodes at once are tested. */
const ONE = ["--concurrency", "1"];

function rollout(...args: string[]): ReturnType<typeof runPaddock> {
  return runPaddock(["rollout", "--env", "tau-bench", ...args]);
}

Deno.test("paddock rollout --env tau-bench plays the tasks of a split with scripted users", async () => {
  const { code, stdout } = await rollout(...PLAYED, ...USER, ...POLICY, "--split", "train", "--json", ...ONE);
  const played = stdout.trim().split("\n").map((line) => JSON.parse(line));
  assertEquals([code, played.length], [0, 4]);
  for (const { task, reward, rewardParts, terminated, messages } of played) {
    assertStringIncludes(task.id, "library_desk/train/");
    assertEquals([reward, rewardParts, terminated], [1, { database: 1, outputs: null }, true]);
    assertEquals(messages.slice(0, 2).map(({ role }: { role: string }) => role), ["system", "user"]);
  }
});

Deno.test("paddock rollout --env tau-bench records a user without lines on that episode alone", async () => {
  const users = await Deno.makeTempFile({ suffix: ".jsonl" });
  try {
    await Deno.writeTextFile(users, '{"id": "library_desk/test/0", "replies": ["Hello", "###STOP###"]}\n');
    const { code, stdout } = await rollout(
      ...PLAYED,
      ...POLICY,
      "--user",
      `scripted:${users}`,
      "--limit",
      "2",
      "--json",
      ...ONE,
    );
    const [one, two] = stdout.trim().split("\n").map((line) => JSON.parse(line));
    assertEquals([code, one.reward, one.error], [1, 1, undefined]);
    assertEquals([two.reward, two.error.boundary], [null, "user"]);
  } finally {
    await Deno.remove(users);
  }
});

Deno.test("paddock rollout --env tau-bench --resume replays the messages of a user model", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const { tokenizer: model, config } = tinyTokenizerFiles();
    await Deno.writeTextFile(`${folder}/tokenizer.json`, JSON.stringify(model));
    await Deno.writeTextFile(`${folder}/tokenizer_config.json`, JSON.stringify(config));
    const { encode } = await tinyTokenizer();
    await using user = new FakeServer((_request, count) =>
      completion({ content: count < 4 ? `words ${count}` : "###STOP###" })
    );
    await using policy = new FakeServer((_request, count) => {
      if (count === 3) return new Response("no memory", { status: 500 });
      const text = `reply ${count}`;
      return Response.json({ text, output_ids: encode(text), meta_info: { finish_reason: "stop" } });
    });
    const players = [
      "--user",
      `openai:${user.url}`,
      "--user-model",
      "m",
      "--policy",
      `sglang:${policy.url}`,
      "--tokenizer",
      folder,
    ];
    const train = ["--train-out", `${folder}/train.jsonl`, "--resume", "--limit", "1", ...ONE];
    const played = async () => {
      const { code } = await rollout(...PLAYED, ...players, ...train);
      const [{ status, messages, errors }] = (await Deno.readTextFile(`${folder}/train.jsonl`)).trim()
        .split("\n").map((line) => JSON.parse(line));
      const replies = messages.slice(1).map(({ content }: { content: string }) => content);
      return { code, status, replies, errors: errors.map(({ boundary }: { boundary: string }) => boundary) };
    };
    const before = ["words 1", "reply 1", "words 2", "reply 2", "words 3"];
    assertEquals(await played(), { code: 1, status: "aborted", replies: before, errors: ["policy"] });
    const replies = [...before, "reply 4", "###STOP###"];
    assertEquals(await played(), { code: 0, status: "completed", replies, errors: [] });
    assertEquals(user.seen.at(-1)?.body.messages.length, 8, "the model receives its earlier messages");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("paddock rollout --env tau-bench stops a tool at its timeout", async () => {
  await using checkout = await makeOddCheckout();
  const { path } = checkout;
  const call = '<tool_call>\n{"name": "forever", "arguments": {}}\n</tool_call>';
  const script = (replies: string[]) => JSON.stringify({ id: "odd/test/0", replies });
  await Deno.writeTextFile(`${path}/policy.jsonl`, script([call, "Done"]));
  await Deno.writeTextFile(`${path}/users.jsonl`, script(["Hello", "###STOP###"]));
  const players = ["--policy", `scripted:${path}/policy.jsonl`, "--user", `scripted:${path}/users.jsonl`];
  const { code, stdout } = await rollout(
    "--path",
    path,
    "--domain",
    "odd",
    ...players,
    "--timeout-ms",
    "700",
    "--json",
    ...ONE,
  );
  const { messages, terminated } = JSON.parse(stdout);
  assertEquals([code, terminated], [0, true], stdout);
  assertStringIncludes(messages[3].content, "the block ran longer than 700 ms");
});

Deno.test("paddock rollout --env tau-bench names missing options", async () => {
  const cases: [string[], string][] = [
    [[], "give --path DIR --domain NAME"],
    [["--path", DESK], "give --path DIR --domain NAME"],
    [PLAYED, "give --user scripted:FILE"],
    [[...PLAYED, "--user", "nobody"], "Cannot find user 'nobody': available are scripted, openai, human"],
    [[...PLAYED, "--user", "openai:http://localhost:1"], "give --user-model NAME"],
    [[...PLAYED, "--user", "openai:", "--user-model", "m"], "give --user openai:URL"],
    [[...PLAYED, "--user", "human"], "give --concurrency 1"],
    [[...PLAYED, "--user", "scripted:no/such"], "no/such"],
    [[...PLAYED, ...USER, "--tasks", "x"], "remove --tasks"],
    [[...PLAYED, ...USER, "--split", "dev", ...ONE], "must be one of test, train"],
    [["--path", "/no/such", "--domain", "retail", ...USER], "must be a checkout"],
    [["--path", DESK, "--domain", "retail", ...USER], "found library_desk"],
    [[...PLAYED, ...USER, "--calls", "smoke"], "call style 'smoke'"],
  ];
  for (const [args, says] of cases) {
    const { code, stderr } = await rollout(...args);
    assertEquals(code, 2, stderr);
    assertStringIncludes(stderr, says);
  }
});
