import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { completion, FakeServer } from "../../policy/fake_server.ts";
import { toJsonLines } from "../../datasets/temp_files.ts";
import { TempFolder } from "../../temp_folder.ts";
import { runPaddock, startPaddock } from "../run_paddock.ts";

/** A folder with tasks and the arguments of a run over them. */
async function tasksOf(count: number): Promise<TempFolder> {
  const rows = Array.from({ length: count }, (_, at) => ({ id: `t${at}`, query: "6*7?", answer: "42" }));
  return await TempFolder.of({ "tasks.jsonl": toJsonLines(...rows) });
}

function chat({ path }: TempFolder, url: string, ...more: string[]): string[] {
  const policy = ["--policy", `openai:${url}`, "--model", "m", "--concurrency", "4"];
  return [
    "rollout",
    "--env",
    "chat",
    "--tasks",
    `${path}/tasks.jsonl`,
    ...policy,
    "--out",
    `${path}/o.jsonl`,
    ...more,
  ];
}

async function rowsOf({ path }: TempFolder): Promise<{ error?: { message: string } }[]> {
  const text = await Deno.readTextFile(`${path}/o.jsonl`);
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

Deno.test("paddock rollout waits for a server that is away in the middle, and no episode fails", async () => {
  await using folder = await tasksOf(60);
  const half = Promise.withResolvers<void>();
  const first = new FakeServer((_, count) => {
    if (count === 20) half.resolve();
    // a broken connection, as of a server that was killed
    return count > 20 ? new Promise<Response>(() => {}) : completion({ content: "It is 42" });
  });
  const child = startPaddock(...chat(folder, first.url));
  await child.stdin.close();
  await half.promise;
  await first.kill();
  const stderr = new TextDecoderStream();
  const errors: string[] = [];
  const isAway = Promise.withResolvers<void>();
  const read = child.stderr.pipeThrough(stderr).pipeTo(
    new WritableStream({
      write(text) {
        errors.push(text);
        if (errors.join("").includes("waiting up to 600 s for it (--server-wait)")) isAway.resolve();
      },
    }),
  );
  await isAway.promise;
  await using _back = new FakeServer(() => completion({ content: "It is 42" }), { port: first.port });
  const [{ code }, stdout] = await Promise.all([child.status, new Response(child.stdout).text(), read]);
  assertEquals(code, 0, errors.join(""));
  assertMatch(stdout, /episodes +60\nmean reward +1\.0000\n/);
  assertStringIncludes(errors.join(""), "The model server answers again after ");
  assertEquals((await rowsOf(folder)).length, 60);
});

Deno.test("paddock rollout ends when the server is away for longer than --server-wait, and --resume continues", async () => {
  await using folder = await tasksOf(200);
  await using server = new FakeServer((_, count) =>
    count <= 20 ? completion({ content: "It is 42" }) : new Response("gone", { status: 503 })
  );
  const { code, stderr, stdout } = await runPaddock(chat(folder, server.url, "--server-wait", "0.05"));
  assertEquals(code, 1);
  assertMatch(
    stderr,
    /Ended the run after 2\d episodes as all others would fail: .*503.*; --resume continues it\n$/,
  );
  assertMatch(stdout, /episodes +2\d\n/);
  const rows = await rowsOf(folder);
  assertEquals(rows.filter(({ error }) => error === undefined).length, 20);
  assert(rows.length < 30, `few episodes fail: ${rows.length}`);
  await using up = new FakeServer(() => completion({ content: "It is 42" }));
  assertEquals((await runPaddock(chat(folder, up.url, "--resume"))).code, 0);
  assertEquals((await rowsOf(folder)).length, 200);
});

Deno.test("paddock rollout ends at once with a wrong key, address or model", async () => {
  for (const [status, message] of [[401, "wrong key"], [404, "The model `m` does not exist."]] as const) {
    await using folder = await tasksOf(200);
    await using server = new FakeServer(() => Response.json({ error: { message } }, { status }));
    const { code, stderr } = await runPaddock(chat(folder, server.url));
    assertEquals(code, 1);
    assertMatch(
      stderr,
      /^error: Ended the run after \d episodes as all others would fail: .*--resume continues it\n$/,
    );
    assertStringIncludes(stderr, message);
    assert((await rowsOf(folder)).length < 10);
  }
});

Deno.test("paddock rollout --max-errors ends the run after that many failed episodes", async () => {
  await using folder = await tasksOf(200);
  await using server = new FakeServer((_, count) =>
    count % 2 === 0 ? completion({ content: "It is 42" }) : new Response("odd", { status: 422 })
  );
  const { code, stderr } = await runPaddock(
    chat(folder, server.url, "--max-errors", "3", "--concurrency", "1", "--max-tokens", "7"),
  );
  assertEquals(code, 1);
  assertMatch(
    stderr,
    /error: Ended the run after 5 episodes as 3 have failed \(--max-errors\), the last: .*422/,
  );
  assertEquals((await rowsOf(folder)).filter(({ error }) => error !== undefined).length, 3);
  const all = await runPaddock(chat(folder, server.url, "--force"));
  assertMatch(all.stdout, /episodes +200\n/);
});
