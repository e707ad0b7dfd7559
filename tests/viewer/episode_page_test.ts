import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { TempFolder } from "../temp_folder.ts";
import { openViewer, readIndexedPage, readPage } from "./read_page.ts";
import { rowOf } from "./saved_rows.ts";

Deno.test("an episode shows its calls, rewards, images, log-probabilities and a link to each turn", async () => {
  const png = "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAUCAYAAAC07w7bAAAAAElFTkSuQmCC";
  await using folder = await TempFolder.of({
    "a.jsonl": rowOf({
      messages: [
        { role: "user", content: "q" },
        { role: "assistant", content: "```python\nprint(1)\n```" },
        { role: "tool", content: "1" },
        { role: "assistant", content: "42", tool_calls: [{ name: "run", arguments: { code: "x = 1" } }] },
      ],
      rewardParts: { format: 0.25 },
      task: { id: "t", query: "q", fields: { level: "<b>hard" } },
      steps: [1, 2].map((turn) => ({
        turn,
        policyMs: 5,
        envMs: 1,
        reward: null,
        usage: { promptTokens: 1_200, replyTokens: 34 },
      })),
      toolResults: [
        {
          turn: 1,
          tool: "python",
          status: "timeout",
          durationMs: 77,
          peakMemoryBytes: 34_603_008,
          display: [{ "image/png": png }],
          calls: [
            {
              call: 1,
              tool: "search",
              status: "error",
              durationMs: 3,
              arguments: { q: "<i>" },
              result: "no <b>seat",
            },
          ],
        },
      ],
      tokens: { ids: [5, 6], lossMask: [0, 1], logProbs: [0, -1.5], promptLength: 1, promptText: "p" },
    }),
  });
  const { text } = await readPage(await openViewer(folder), "/runs/a.jsonl/episodes/1");
  for (
    const part of [
      `id="turn-1"`,
      `href="#turn-2"`,
      "77 ms",
      "peak memory 33 MiB",
      "Calls of tools from the code: 1",
      "&lt;i&gt;",
      "no &lt;b&gt;seat",
      "1,200 tokens of prompt · 34 of reply",
      "Further data of the task",
      "&lt;b&gt;hard",
      "timeout",
      "format",
      "0.25",
      `src="data:image/png;base64,${png}"`,
      `width="10" height="20"`,
      "log-probability -1.5",
      `<span class="c-name">print</span>`,
    ]
  ) assertStringIncludes(text, part);
});

Deno.test("branches are shown as a tree", async () => {
  const rows = [
    rowOf({ info: {} }).replace("{", `{"id":"root",`),
    rowOf({}).replace("{", `{"id":"leaf","parent":{"id":"root","turn":2},`),
    rowOf({}).replace("{", `{"id":"other"`.concat(",")),
  ];
  await using folder = await TempFolder.of({ "a.jsonl": `${rows.join("\n")}\n` });
  const viewer = await openViewer(folder);
  for (const number of [1, 2]) {
    const { text } = await readPage(viewer, `/runs/a.jsonl/episodes/${number}`);
    assertStringIncludes(text, `href="/runs/a.jsonl/episodes/2?turn=2#turn-2"`);
    assertStringIncludes(text, "from turn 2");
  }
  assertFalse((await readPage(viewer, "/runs/a.jsonl/episodes/3")).text.includes("Branches"));
});

Deno.test("fields of another type count as missing", async () => {
  const row = rowOf({
    steps: [{ turn: 1, policyMs: "x", envMs: {}, reward: "y", finishReason: 5, usage: null }, {
      turn: 2,
      usage: 7,
    }],
    toolResults: [{ turn: 1, tool: "t", status: "ok", durationMs: "x", denied: 3 }],
  });
  await using folder = await TempFolder.of({ "a.jsonl": row });
  const { status, text } = await readPage(await openViewer(folder), "/runs/a.jsonl/episodes/1");
  assertEquals(status, 200);
  assertStringIncludes(text, "finish: 5");
  assertFalse(text.includes("tokens of prompt"));
});

Deno.test("the raw row is text that a browser neither runs nor renders", async () => {
  const line = rowOf({ id: "<script>alert(1)</script>" });
  await using folder = await TempFolder.of({ "a.jsonl": `${line}\n` });
  const { text, headers } = await readPage(await openViewer(folder), "/runs/a.jsonl/episodes/1/raw");
  assertEquals(text, `${line}\n`);
  assertEquals(headers.get("content-type"), "text/plain; charset=utf-8");
  assertEquals(headers.get("x-content-type-options"), "nosniff");
  assertStringIncludes(headers.get("content-security-policy") ?? "", "sandbox");
});

Deno.test("an episode of 50 MB has a page of less than a megabyte", async () => {
  await using folder = await TempFolder.of({
    "a.jsonl": `${
      rowOf({
        messages: [{ role: "tool", content: "\x1b".repeat(8_000_000) }, {
          role: "assistant",
          content: "x".repeat(2_000_000),
        }],
      })
    }\n`,
  });
  const viewer = await openViewer(folder);
  assertEquals((await readIndexedPage(viewer, "/runs/a.jsonl")).status, 200);
  const { text } = await readPage(viewer, "/runs/a.jsonl/episodes/1");
  assert(text.length < 1024 * 1024 * 2, `${text.length}`);
  assertStringIncludes(text, "more characters");
});

function assertFalse(value: boolean, message?: string): void {
  assertEquals(value, false, message);
}

/** Returns an episode whose turns all have a message of the assistant and one of the user. */
function longRow(turns: number): string {
  const numbers = Array.from({ length: turns }, (_, at) => at + 1);
  return rowOf({
    turns,
    messages: numbers.flatMap((turn) => [
      { role: "assistant", content: `reply ${turn}.` },
      { role: "user", content: "next" },
    ]),
    steps: numbers.map((turn) => ({ turn, policyMs: turn, envMs: 1, reward: null })),
  });
}

Deno.test("a long episode has pages of messages, and the address of a turn opens the page that has it", async () => {
  await using folder = await TempFolder.of({ "a.jsonl": longRow(400) });
  const viewer = await openViewer(folder);
  const shown = (text: string) => Array.from(text.matchAll(/id="turn-(\d+)"/g), ([, turn]) => Number(turn));
  const first = (await readPage(viewer, "/runs/a.jsonl/episodes/1")).text;
  assertEquals([shown(first).length, shown(first).at(-1)], [150, 150]);
  assertStringIncludes(first, `href="?message=300#messages"`);
  assertStringIncludes(first, `href="?turn=200#turn-200"`); // from the table of turns
  assertStringIncludes(first, `href="#turn-2"`);
  assertEquals(shown((await readPage(viewer, "/runs/a.jsonl/episodes/1?message=300")).text)[0], 151);
  const turn = (await readPage(viewer, "/runs/a.jsonl/episodes/1?turn=399")).text;
  assertEquals(shown(turn), [399, 400]);
  assertEquals(shown((await readPage(viewer, "/runs/a.jsonl/episodes/1?turn=3")).text)[0], 1);
});

Deno.test("a page of an episode of any size is small, with long texts too", async () => {
  const messages = Array.from(
    { length: 3_000 },
    (_, at) => ({ role: "tool", content: `${at} `.repeat(3_000) }),
  );
  const parts = Array.from({ length: 5_000 }, () => ({ type: "text", text: "x".repeat(2_000) }));
  await using folder = await TempFolder.of({
    "a.jsonl": `${rowOf({ messages })}\n${rowOf({ messages: [{ role: "assistant", content: parts }] })}\n`,
  });
  const viewer = await openViewer(folder);
  for (const episode of [1, 2]) {
    for (const [query, megabytes] of [["", 1], ["?all=1", 3]] as const) {
      const { text } = await readIndexedPage(viewer, `/runs/a.jsonl/episodes/${episode}${query}`);
      assert(text.length < megabytes * 1024 ** 2, `episode ${episode}${query}: ${text.length}`);
    }
  }
  const { text } = await readPage(viewer, "/runs/a.jsonl/episodes/2");
  assertStringIncludes(text, "4,900 more, which the raw JSON has");
});

Deno.test("images are shown in their size, and bytes that are no image as a note", async () => {
  const toBase64 = (bytes: number[]) => btoa(String.fromCharCode(...bytes));
  const ascii = (text: string) => [...text].map((character) => character.charCodeAt(0));
  const webp = (kind: string, rest: number[]) =>
    toBase64([...ascii("RIFF"), 0, 0, 0, 0, ...ascii(`WEBP${kind}`), 0, 0, 0, 0, ...rest]);
  const images: Readonly<Record<string, string>> = {
    "webp lossy": webp("VP8 ", [0, 0, 0, 0x9d, 1, 0x2a, 30, 0, 20, 0]),
    "webp lossless": webp("VP8L", [0x2f, 29, 0xc0, 4, 0]),
    "webp extended": webp("VP8X", [0, 0, 0, 0, 29, 0, 0, 19, 0, 0]),
    gif: toBase64([...ascii("GIF89a"), 30, 0, 20, 0, 0]),
    jpeg: toBase64([0xff, 0xd8, 0xff, 0xe0, 0, 2, 0xff, 0xc0, 0, 11, 8, 0, 20, 0, 30, 0]),
  };
  const others = ["iVBORw0KGgo=", "QUJD", webp("ALPH", [0, 0]), "////"];
  const rows = [...Object.values(images), ...others].map((data) =>
    rowOf({ messages: [{ role: "user", content: [{ type: "image", data, mime_type: "image/png" }] }] })
  );
  await using folder = await TempFolder.of({ "a.jsonl": `${rows.join("\n")}\n` });
  const viewer = await openViewer(folder);
  for (const [at, name] of Object.keys(images).entries()) {
    const { text } = await readPage(viewer, `/runs/a.jsonl/episodes/${at + 1}`);
    assertStringIncludes(text, `width="30" height="20"`, name);
  }
  for (const at of others.keys()) {
    const number = Object.keys(images).length + at + 1;
    const { text } = await readPage(viewer, `/runs/a.jsonl/episodes/${number}`);
    assertEquals(text.includes("<img"), false, others[at]);
    assertStringIncludes(text, "which are no image that is shown");
  }
});

Deno.test("an episode that was opened from a search has the found text marked, as text", async () => {
  const content = "```python\nprint('a<b>')\n```\nthe a<b> value";
  await using folder = await TempFolder.of({
    "a.jsonl": rowOf({ messages: [{ role: "assistant", content }] }),
  });
  const viewer = await openViewer(folder);
  const { text } = await readPage(viewer, `/runs/a.jsonl/episodes/1?text=${encodeURIComponent("a<b>")}`);
  assertEquals(text.match(/<mark>a&lt;b&gt;<\/mark>/g)?.length, 2);
  const call = encodeURIComponent("print('a");
  assertStringIncludes(
    (await readPage(viewer, `/runs/a.jsonl/episodes/1?text=${call}`)).text,
    "<code><mark>print(&#39;a</mark>&lt;b&gt;", // it begins in the name of a function and ends in a string
  );
  assertEquals((await readPage(viewer, "/runs/a.jsonl/episodes/1")).text.includes("<mark>"), false);
});

Deno.test("of a text with very many found places, only the first are marked", async () => {
  await using folder = await TempFolder.of({
    "a.jsonl": rowOf({ messages: [{ role: "user", content: "x".repeat(15_000) }] }),
  });
  const { text } = await readPage(await openViewer(folder), "/runs/a.jsonl/episodes/1?text=x");
  assertEquals(text.match(/<mark>x<\/mark>/g)?.length, 500);
  assertEquals(text.replace(/<[^>]*>/g, "").match(/x+/g)?.some((run) => run.length === 15_000), true);
});

Deno.test("the reasoning in a <think> block can be folded, and the rest follows it", async () => {
  const replies = ["<think>\nsix\n</think>\n\nseven", "<think>never closed", "no <think>block</think>"];
  await using folder = await TempFolder.of({
    "a.jsonl": rowOf({ messages: replies.map((content) => ({ role: "assistant", content })) }),
  });
  const { text } = await readPage(await openViewer(folder), "/runs/a.jsonl/episodes/1");
  assertEquals(text.match(/<summary>Reasoning in &lt;think&gt;<\/summary>/g)?.length, 2);
  assertStringIncludes(text, `</details><p class="prose">seven</p>`);
  assertStringIncludes(text, "no &lt;think&gt;block&lt;/think&gt;");
});
