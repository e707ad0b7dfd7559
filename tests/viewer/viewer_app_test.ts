import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { RunFolder } from "../../src/viewer/run_folder.ts";
import { viewerApp } from "../../src/viewer/viewer_app.tsx";
import { TempFolder } from "../temp_folder.ts";
import { openViewer, readIndexedPage, readPage } from "./read_page.ts";
import { rowOf, runOf } from "./saved_rows.ts";

/** Returns the numbers of the episodes that a page of a run lists. */
function listed(text: string): number[] {
  return Array.from(text.matchAll(/href="[^"]*\/episodes\/(\d+)[^"]*"/g), ([, number]) => Number(number));
}

Deno.test("the list of runs has their figures, and links to runs in sub-folders", async () => {
  await using folder = await TempFolder.of({
    "a.jsonl": runOf(6),
    "deep/b.jsonl": runOf(2, () => ({ versions: { paddock: "1", env: "tau-bench" } })),
    "notes.txt": "no",
  });
  const { status, text } = await readPage(await openViewer(folder), "/runs");
  assertEquals(status, 200);
  assertStringIncludes(text, `href="/runs/a.jsonl"`);
  assertStringIncludes(text, `href="/runs/deep%2Fb.jsonl"`);
  for (const name of ["qwen", "tau-bench"]) assertStringIncludes(text, name);
  assertStringIncludes(text, "0.3333"); // one of three tasks is solved
  assertFalse(text.includes("notes.txt"));
  const viewer = await openViewer(folder);
  assertEquals((await readPage(viewer, "/runs/deep%2Fb.jsonl")).status, 200);
});

Deno.test("no address reaches a file outside of the folder", async () => {
  await using outside = await TempFolder.of({ "secret.jsonl": runOf(1) });
  await using folder = await TempFolder.of({ "a.jsonl": runOf(1), ".hidden.jsonl": runOf(1) });
  await Deno.symlink(outside.file("secret.jsonl").hostPath, join(folder.path, "link.jsonl"));
  await Deno.symlink(outside.path, join(folder.path, "deep"));
  await Deno.symlink(join(folder.path, "a.jsonl"), join(folder.path, "alias.jsonl"));
  const viewer = await openViewer(folder);
  const name = encodeURIComponent(`../${outside.path.split("/").at(-1)}/secret.jsonl`);
  for (
    const path of [
      name,
      "link.jsonl",
      "deep%2Fsecret.jsonl",
      ".hidden.jsonl",
      encodeURIComponent(outside.file("secret.jsonl").hostPath),
      "a.jsonl%00",
      "..%2f..%2fetc%2fpasswd",
    ]
  ) {
    for (const below of ["", "/episodes/1", "/episodes/1/raw", "/export.jsonl", "/events", "/groups"]) {
      assertEquals((await readPage(viewer, `/runs/${path}${below}`)).status, 404, path + below);
    }
  }
  const { text } = await readPage(viewer, "/runs");
  assertFalse(text.includes("secret") || text.includes("link.jsonl") || text.includes("hidden.jsonl"));
  assertEquals((await readPage(viewer, "/runs/alias.jsonl")).status, 200); // a link within the folder
});

Deno.test("a viewer of one file shows no other file of its folder", async () => {
  await using folder = await TempFolder.of({ "a.jsonl": runOf(1), "b.jsonl": runOf(1) });
  const viewer = viewerApp({ folder: await RunFolder.open(folder.file("a.jsonl").hostPath) });
  assertEquals((await readPage(viewer, "/runs/a.jsonl")).status, 200);
  assertEquals((await readPage(viewer, "/runs/b.jsonl")).status, 404);
});

Deno.test("the page of a run filters and sorts", async () => {
  const failed = {
    reward: null,
    terminated: false,
    error: { boundary: "policy", name: "E", message: "down" },
  };
  const rows = [
    rowOf({
      task: { id: "one", query: "q", group: "both" },
      reward: 1,
      times: { totalMs: 30, policyMs: 0, envMs: 0 },
    }),
    rowOf({
      task: { id: "two", query: "q", group: "both" },
      reward: 0,
      toolResults: [{ turn: 1, tool: "t", status: "timeout" }],
    }),
    rowOf({ id: "three", reward: 0.5, messages: [{ role: "assistant", content: 'a "rare" wörd\n' }] }),
    rowOf({ id: "four", ...failed, versions: { paddock: "1", env: "tools" } }),
    "damaged",
  ];
  await using folder = await TempFolder.of({ "a.jsonl": `${rows.join("\n")}\n` });
  const viewer = await openViewer(folder);
  const cases: Readonly<Record<string, number[]>> = {
    "": [1, 2, 3, 4, 5],
    "?reward=right": [1],
    "?reward=wrong": [2, 3],
    "?reward=partial": [3],
    "?reward=unscored": [4, 5],
    "?min=0.2&max=0.7": [3],
    "?error=any": [4, 5],
    "?error=none": [1, 2, 3],
    "?error=policy": [4],
    "?tool=timeout": [2],
    "?tool=unknown": [],
    "?env=tools": [4],
    "?env=unknown": [],
    "?task=two": [2],
    "?group=both": [1, 2],
    [`?text=${encodeURIComponent('"rare" wörd\n')}`]: [3],
    "?text=damaged": [5],
    "?sort=reward": [2, 3, 1, 4, 5],
    "?sort=reward&order=desc": [1, 3, 2, 4, 5],
    "?sort=time&order=desc": [1, 2, 3, 4, 5],
    "?order=desc": [5, 4, 3, 2, 1],
  };
  for (const [query, expected] of Object.entries(cases)) {
    const { text, status } = await readPage(viewer, `/runs/a.jsonl${query}`);
    assertEquals(status, 200);
    assertEquals(listed(text), expected, query);
  }
});

Deno.test("the page of a run has pages of episodes and keeps the filter in its links", async () => {
  await using folder = await TempFolder.of({ "a.jsonl": runOf(120) });
  const viewer = await openViewer(folder);
  assertEquals(listed((await readPage(viewer, "/runs/a.jsonl?page=2")).text).length, 50);
  const { text } = await readPage(viewer, "/runs/a.jsonl?page=99&sort=time");
  assertEquals(listed(text).length, 20);
  assertEquals(listed(text).at(-1), 1); // the first episode took the longest
  assertStringIncludes(text, "/runs/a.jsonl/episodes/1?sort=time");
  assertStringIncludes(text, `href="/runs/a.jsonl?order=desc#episodes">Newest first`);
});

Deno.test("the next and previous episode are those of the list", async () => {
  await using folder = await TempFolder.of({ "a.jsonl": runOf(12) });
  const { text } = await readPage(await openViewer(folder), "/runs/a.jsonl/episodes/7?reward=right");
  assertStringIncludes(text, `rel="prev" href="/runs/a.jsonl/episodes/2?reward=right"`);
  assertStringIncludes(text, `rel="next" href="/runs/a.jsonl/episodes/8?reward=right"`);
});

Deno.test("the groups have pass@n", async () => {
  await using folder = await TempFolder.of({
    "a.jsonl": runOf(4, (at) => ({ id: "same", reward: at === 0 ? 1 : 0 })),
  });
  const { text } = await readPage(await openViewer(folder), "/runs/a.jsonl/groups");
  for (const value of ["pass@1", "pass@2", "pass@4", "0.25", "0.5", "1 of 4", "?group=same#episodes"]) {
    assertStringIncludes(text, value);
  }
});

Deno.test("the filtered episodes are exported unchanged, and as CSV without formulas", async () => {
  const lines = [
    rowOf({ id: "=1+1", reward: 0 }),
    rowOf({ id: 'a "b", c', reward: 1, rewardParts: { "format, x": 0.5 } }),
  ];
  await using folder = await TempFolder.of({ "a.jsonl": `${lines.join("\n")}\n` });
  const viewer = await openViewer(folder);
  assertEquals((await readPage(viewer, "/runs/a.jsonl/export.jsonl?reward=right")).text, `${lines[1]}\n`);
  const { text, headers } = await readPage(viewer, "/runs/a.jsonl/export.csv");
  assertStringIncludes(headers.get("content-disposition") ?? "", "attachment");
  assertStringIncludes(text, "1,'=1+1,");
  assertStringIncludes(text, `2,"a ""b"", c",`);
  assertStringIncludes(text, `,"part:format, x"\r\n`);
  assertEquals(text.trimEnd().split("\r\n").map((line) => line.endsWith(",0.5")), [false, false, true]);
});

Deno.test("the events of a run follow its file", async () => {
  await using folder = await TempFolder.of({ "a.jsonl": runOf(2) });
  const controller = new AbortController();
  const viewer = await openViewer(folder, controller.signal);
  const response = await viewer.request("/runs/a.jsonl/events");
  const events = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const next = async () => {
    for (;;) {
      const data = /^data: (.*)$/m.exec((await events?.read())?.value ?? "")?.[1];
      if (data !== undefined) return JSON.parse(data).episodes;
    }
  };
  assertEquals(await next(), 2);
  await Deno.writeTextFile(folder.file("a.jsonl").hostPath, `${rowOf()}\n`, { append: true });
  assertEquals(await next(), 3);
  controller.abort();
  assertEquals((await events?.read())?.done, true);
});

Deno.test("the samples of a group are linked in their order", async () => {
  await using folder = await TempFolder.of({
    "a.jsonl": runOf(3, (at) => ({ id: "same", sample: 3 - at, reward: at === 0 ? 1 : 0 })),
  });
  const { text } = await readPage(await openViewer(folder), "/runs/a.jsonl/groups");
  assertEquals(listed(text), [3, 2, 1]);
  assertStringIncludes(
    text,
    `href="/runs/a.jsonl/episodes/1?group=same"><span class="reward right">1</span>`,
  );
});

Deno.test("the page of a run has pass@n, pass^n, and the parts of its rewards", async () => {
  await using folder = await TempFolder.of({
    "a.jsonl": runOf(4, (at) => ({ id: "same", reward: at < 3 ? 1 : 0, rewardParts: { form: at, rest: 2 } })),
  });
  const { text } = await readPage(await openViewer(folder), "/runs/a.jsonl");
  const rowOfCells = (...cells: string[]) =>
    `<tr>${cells.map((cell) => `<td class="number">${cell}</td>`).join("")}</tr>`;
  assertStringIncludes(text, rowOfCells("2", "1", "0.5", "1")); // of 6 pairs, 3 have two right samples
  assertStringIncludes(text, rowOfCells("form", "1.5", "0", "3", "4"));
  assertStringIncludes(text, "Part of the reward: form");
});

Deno.test("the list of episodes has questions, replies and answers on request", async () => {
  const messages = [
    { role: "user", content: "first <b>" },
    { role: "assistant", content: "second" },
    { role: "assistant", content: "x".repeat(2_000) },
  ];
  const task = { id: "t", query: "q", answer: "42" };
  const huge = rowOf({ messages: [{ role: "user", content: "y".repeat(9 * 1024 ** 2) }] });
  await using folder = await TempFolder.of({ "a.jsonl": `${rowOf({ messages, task })}\ndamaged\n${huge}\n` });
  const viewer = await openViewer(folder);
  const { text } = await readPage(viewer, "/runs/a.jsonl?texts=1");
  assertEquals(text.match(/<tr class="preview">/g)?.length, 1); // neither of a damaged row nor of a huge one
  for (const shown of ["first &lt;b&gt;", `${"x".repeat(300)}…`, "Answer: </span>42"]) {
    assertStringIncludes(text, shown);
  }
  assertFalse((await readPage(viewer, "/runs/a.jsonl")).text.includes("preview"));
});

Deno.test("plots of numbers of any size have only finite coordinates", async () => {
  const rewards = [1e308, -1e308, 5e-324, 0];
  await using folder = await TempFolder.of({ "a.jsonl": runOf(4, (at) => ({ reward: rewards[at] })) });
  const { text } = await readPage(await openViewer(folder), "/runs/a.jsonl");
  assertEquals(text.match(/(?:points|cx|cy|x|y|height)="[^"]*(?:NaN|Infinity)[^"]*"/g), null);
  assertStringIncludes(text, "-1e308");
});

function assertFalse(value: boolean, message?: string): void {
  assertEquals(value, false, message);
}

Deno.test("the page of a run counts and selects the episodes that a limit of tokens cut off", async () => {
  const ends: Record<string, unknown>[] = [
    {},
    { terminated: false, truncated: true, cut: "length" },
    { terminated: false, truncated: true, cut: "context" },
    { terminated: false, truncated: true },
    { terminated: false, error: { boundary: "policy", name: "PolicyError", message: "no" } },
    { terminated: false },
  ];
  await using folder = await TempFolder.of({ "a.jsonl": runOf(ends.length, (at) => ends[at] ?? {}) });
  const viewer = await openViewer(folder);
  const rowsOf = async (query: string) => listed((await readPage(viewer, `/runs/a.jsonl${query}`)).text);
  const { text } = await readPage(viewer, "/runs/a.jsonl");
  assertMatch(text, /<dt>Cut off<\/dt>\s*<dd>2<\/dd>/);
  assertEquals(await rowsOf("?end=cut"), [2, 3]);
  assertEquals(await rowsOf("?end=truncated"), [2, 3, 4]);
  assertEquals(await rowsOf("?end=terminated"), [1]);
  assertEquals(await rowsOf("?end=failed"), [5]);
  assertEquals(await rowsOf("?end=stopped"), [6]);
  assertEquals(await rowsOf("?error=any"), [5]);
});

Deno.test("an episode that is too large is listed with its size, and its page has its beginning", async () => {
  await using folder = await TempFolder.of({ "a.jsonl": `${rowOf()}\n{"messages":[` });
  {
    using file = await Deno.open(join(folder.path, "a.jsonl"), { append: true });
    const part = new Uint8Array(1024 * 1024).fill(32);
    for (let at = 0; at < 65; at++) await file.write(part);
    await file.write(new TextEncoder().encode(`]}\n${rowOf()}\n`));
  }
  const viewer = await openViewer(folder);
  const { text: list } = await readIndexedPage(viewer, "/runs/a.jsonl");
  assertEquals(listed(list), [1, 2, 3]);
  assertStringIncludes(list, "too large (65 MiB)");
  const { status, text } = await readPage(viewer, "/runs/a.jsonl/episodes/2");
  assertEquals(status, 200);
  assertStringIncludes(text, "it is too large, as at most 64 MiB are shown: it has 65 MiB");
  assertEquals(text.length < 100_000, true, "the page has the beginning alone");
});
