import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { TempFolder } from "../../temp_folder.ts";
import { runOf } from "../../viewer/saved_rows.ts";
import { runPaddock, startPaddock } from "../run_paddock.ts";

Deno.test("paddock view --web serves a folder until Ctrl-C", async () => {
  await using folder = await TempFolder.of({ "a.jsonl": runOf(3) });
  const child = startPaddock("view", folder.path, "--web", "--port", "0");
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    text += read.value;
    if (text.includes("\n")) break;
  }
  assertMatch(text, /^Viewing at http:\/\/127\.0\.0\.1:\d+\/runs; press Ctrl-C to stop\n$/);
  const url = /http:\S+\/runs/.exec(text)?.[0] ?? "";
  assertStringIncludes(await (await fetch(`${url}/a.jsonl`)).text(), "a.jsonl");
  const events = await fetch(`${url}/a.jsonl/events`); // an open stream does not delay the end
  child.kill("SIGINT");
  const { code } = await child.status;
  assertEquals(code, 0);
  await Promise.all(
    [events.body?.cancel(), child.stdin.close(), child.stdout.cancel(), reader.cancel()].map((end) =>
      end?.catch(() => {})
    ),
  );
});

Deno.test("paddock view --web refuses stdin and options of the text form", async () => {
  assertEquals((await runPaddock(["view", "-", "--web"])).code, 2);
  assertEquals((await runPaddock(["view", "a.jsonl", "--web", "--wrong"])).code, 2);
  assertEquals((await runPaddock(["view", "/nonexistent", "--web"])).code, 2);
});

Deno.test("paddock serve refuses --runs with several tokens", async () => {
  const tokens = ["--token", "first-token-of-two", "second-token-of-two"];
  const { code, stderr } = await runPaddock(["serve", "--runs", "/nonexistent/runs", ...tokens]);
  assertEquals(code, 2);
  assertStringIncludes(stderr, "at most one token");
});

Deno.test("paddock view --cut shows only the episodes that a limit of tokens cut off", async () => {
  const rows = runOf(3, (at) => at === 1 ? { terminated: false, truncated: true, cut: "length" } : {});
  await using folder = await TempFolder.of({ "a.jsonl": rows });
  const { code, stdout } = await runPaddock(["view", join(folder.path, "a.jsonl"), "--cut"]);
  assertEquals([code, stdout.match(/^── .*/gm)], [0, ["── task-0, sample 2 ──"]]);
  assertStringIncludes(stdout, "cut off after 1 turn by the length of the last reply");
});
