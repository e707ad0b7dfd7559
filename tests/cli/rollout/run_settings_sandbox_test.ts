import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { describeRun } from "../../../src/cli/rollout/run_settings.ts";
import { readRunRecord, runRecordPath } from "../../../src/rollout/run_record.ts";
import { completion, FakeServer } from "../../policy/fake_server.ts";
import { TempFolder } from "../../temp_folder.ts";
import { runPaddock } from "../run_paddock.ts";

const TASKS = '{"id":"a","query":"6*7?","answer":"42"}\n{"id":"b","query":"6*7?","answer":"42"}\n';
const GRADER = 'export default { name: "own", grade: () => 1 };\n';

async function open() {
  const folder = await TempFolder.of({ "tasks.jsonl": TASKS, "g.ts": GRADER, "c.jsonc": "{}" });
  const out = `${folder.path}/o.jsonl`;
  const play = (url: string, ...more: string[]) =>
    runPaddock([
      ...["rollout", "--env", "chat", "--tasks", `${folder.path}/tasks.jsonl`, "--out", out],
      ...["--policy", `openai:${url}`, "--model", "m", ...more],
    ]);
  return { folder, out, play };
}

function server(): FakeServer {
  return new FakeServer(() => completion({ content: "It is 42" }));
}

Deno.test("paddock rollout saves what a run was beside its file", async () => {
  const { folder, out, play } = await open();
  await using _folder = folder;
  await using model = server();
  const options = ["--temperature", "0.5", "--top-p", "0.9", "--stop", "x y", "--system", "It's brief."];
  const { code, stderr } = await play(
    model.url,
    ...options,
    "--grader",
    "number_match=0.5",
    "--grader",
    "exact_match",
  );
  assertEquals(code, 0, stderr);
  const record = await readRunRecord(out);
  const [run] = record?.runs ?? [];
  assert(run);
  const { env, policy, model: name, temperature, topP, stop, system, grader, maxTokens, maxTurns, profile } =
    run.settings;
  assertEquals([env, policy, name, temperature, topP, stop], ["chat", "openai", "m", 0.5, 0.9, ["x y"]]);
  assertEquals([system, grader], ["It's brief.", ["number_match=0.5", "exact_match"]]);
  assertEquals([maxTokens, maxTurns, profile], [4096, 8, "python"]);
  assertEquals(
    ["out", "concurrency", "tasks", "samples", "userStrategy"].filter((key) => key in run.settings),
    [],
  );
  assertMatch(
    run.command,
    /^paddock rollout --env chat .*--stop 'x y' --system 'It'\\''s brief\.' --grader number_match=0\.5/,
  );
  assertEquals(run.data.map(({ bytes, sha256 }) => [bytes, sha256.length]), [[TASKS.length, 64]]);
  assertEquals(new Date(run.startedAt).getTime() <= Date.now(), true);
});

Deno.test("paddock rollout --resume names the settings that differ, and changes nothing", async () => {
  const { folder, out, play } = await open();
  await using _folder = folder;
  await using model = server();
  const grader = ["--grader", `${folder.path}/g.ts`];
  assertEquals((await play(model.url, "--temperature", "0.5", "--limit", "1", ...grader)).code, 0);
  const before = await Deno.readTextFile(out);
  const other = await play(
    model.url,
    "--resume",
    "--temperature",
    "1",
    "--seed",
    "3",
    "--system",
    "x",
    ...grader,
  );
  assertEquals([other.code, other.stderr], [
    2,
    `error: Cannot resume '${out}' as its episodes must have the same settings: --seed was 'none' and is '3'; ` +
    "--system was 'none' and is 'x'; --temperature was '0.5' and is '1'. Give the earlier ones, or another file\n",
  ]);
  await Deno.writeTextFile(`${folder.path}/g.ts`, `${GRADER}// changed\n`);
  const changed = await play(model.url, "--resume", "--temperature", "0.5", ...grader);
  assertEquals(changed.code, 2);
  assertMatch(changed.stderr, /--grader was 'g\.ts \(sha256 \w{16}\)' and is 'g\.ts \(sha256 \w{16}\)'/);
  assertEquals(await Deno.readTextFile(out), before);
  await Deno.writeTextFile(`${folder.path}/g.ts`, GRADER);

  // another address, number of samples, concurrency and more tasks are no other settings
  await using moved = server();
  const more = ["--samples", "2", "--concurrency", "1", "--resume", "--temperature", "0.5", ...grader];
  const resumed = await play(moved.url, ...more);
  assertEquals(resumed.code, 0, resumed.stderr);
  assertMatch(resumed.stdout, /episodes +4 \(1 of an earlier run\)/);
  assertEquals((await readRunRecord(out))?.runs.length, 2);

  const fresh = await play(moved.url, "--force", "--temperature", "1");
  assertEquals([fresh.code, (await readRunRecord(out))?.runs.length], [0, 1]);
});

Deno.test("paddock rollout --resume accepts a file without a record, and refuses a damaged record", async () => {
  const { folder, out, play } = await open();
  await using _folder = folder;
  await using model = server();
  assertEquals((await play(model.url, "--limit", "1")).code, 0);
  await Deno.remove(runRecordPath(out));
  assertEquals((await play(model.url, "--resume", "--temperature", "1")).code, 0);
  await Deno.writeTextFile(runRecordPath(out), '{"format":2}');
  const { code, stderr } = await play(model.url, "--resume", "--temperature", "1");
  assertEquals(code, 2);
  assertStringIncludes(stderr, "must be the record of a run of format 1: found format 2");
});

Deno.test("describeRun() records no user, password or query of an address", async () => {
  const address = "http://user:secret@127.0.0.1:1/v1?key=secret";
  const args = ["rollout", "--policy", `openai:${address}`, "--system", `ask ${address} now`];
  const { command, settings } = await describeRun({
    flags: { policy: args[2], system: args[4] },
    effective: {},
    args,
  });
  assertEquals(
    command,
    "paddock rollout --policy openai:http://127.0.0.1:1/v1 --system 'ask http://127.0.0.1:1/v1 now'",
  );
  assertEquals(settings, { policy: "openai", system: "ask http://127.0.0.1:1/v1 now" });
});
