import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { RunFolder } from "../../src/viewer/run_folder.ts";
import { viewerApp } from "../../src/viewer/viewer_app.tsx";
import { TempFolder } from "../temp_folder.ts";
import { rowOf, runOf } from "./saved_rows.ts";

type Viewer = ReturnType<typeof viewerApp>;

async function open(folder: TempFolder, signal?: AbortSignal): Promise<Viewer> {
  return viewerApp({ folder: await RunFolder.open(folder.path), signal });
}

async function read(
  viewer: Viewer,
  path: string,
): Promise<{ status: number; text: string; headers: Headers }> {
  const response = await viewer.request(path);
  return { status: response.status, text: await response.text(), headers: response.headers };
}

Deno.test("the list of runs has their figures, and links to runs in sub-folders", async () => {
  await using folder = await TempFolder.of({
    "a.jsonl": runOf(6),
    "deep/b.jsonl": runOf(2, () => ({ versions: { paddock: "1", env: "tau-bench" } })),
    "notes.txt": "no",
  });
  const { status, text } = await read(await open(folder), "/runs");
  assertEquals(status, 200);
  assertStringIncludes(text, `href="/runs/a.jsonl"`);
  assertStringIncludes(text, `href="/runs/deep%2Fb.jsonl"`);
  for (const name of ["qwen", "tau-bench"]) assertStringIncludes(text, name);
  assertStringIncludes(text, "0.3333"); // one of three tasks is solved
  assertFalse(text.includes("notes.txt"));
  const viewer = await open(folder);
  assertEquals((await read(viewer, "/runs/deep%2Fb.jsonl")).status, 200);
});

Deno.test("no address reaches a file outside of the folder", async () => {
  await using outside = await TempFolder.of({ "secret.jsonl": runOf(1) });
  await using folder = await TempFolder.of({ "a.jsonl": runOf(1), ".hidden.jsonl": runOf(1) });
  await Deno.symlink(outside.file("secret.jsonl").hostPath, join(folder.path, "link.jsonl"));
  await Deno.symlink(outside.path, join(folder.path, "deep"));
  await Deno.symlink(join(folder.path, "a.jsonl"), join(folder.path, "alias.jsonl"));
  const viewer = await open(folder);
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
      assertEquals((await read(viewer, `/runs/${path}${below}`)).status, 404, path + below);
    }
  }
  const { text } = await read(viewer, "/runs");
  assertFalse(text.includes("secret") || text.includes("link.jsonl") || text.includes("hidden.jsonl"));
  assertEquals((await read(viewer, "/runs/alias.jsonl")).status, 200); // a link within the folder
});

Deno.test("a viewer of one file shows no other file of its folder", async () => {
  await using folder = await TempFolder.of({ "a.jsonl": runOf(1), "b.jsonl": runOf(1) });
  const viewer = viewerApp({ folder: await RunFolder.open(folder.file("a.jsonl").hostPath) });
  assertEquals((await read(viewer, "/runs/a.jsonl")).status, 200);
  assertEquals((await read(viewer, "/runs/b.jsonl")).status, 404);
});

/** Returns the numbers of the episodes that a page of a run lists. */
function listed(text: string): number[] {
  return Array.from(text.matchAll(/href="[^"]*\/episodes\/(\d+)[^"]*"/g), ([, number]) => Number(number));
}

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
  const viewer = await open(folder);
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
    const { text, status } = await read(viewer, `/runs/a.jsonl${query}`);
    assertEquals(status, 200);
    assertEquals(listed(text), expected, query);
  }
});

Deno.test("the page of a run has pages of episodes and keeps the filter in its links", async () => {
  await using folder = await TempFolder.of({ "a.jsonl": runOf(120) });
  const viewer = await open(folder);
  assertEquals(listed((await read(viewer, "/runs/a.jsonl?page=2")).text).length, 50);
  const { text } = await read(viewer, "/runs/a.jsonl?page=99&sort=time");
  assertEquals(listed(text).length, 20);
  assertEquals(listed(text).at(-1), 1); // the first episode took the longest
  assertStringIncludes(text, "/runs/a.jsonl/episodes/1?sort=time");
});

Deno.test("the next and previous episode are those of the list", async () => {
  await using folder = await TempFolder.of({ "a.jsonl": runOf(12) });
  const { text } = await read(await open(folder), "/runs/a.jsonl/episodes/7?reward=right");
  assertStringIncludes(text, `rel="prev" href="/runs/a.jsonl/episodes/2?reward=right"`);
  assertStringIncludes(text, `rel="next" href="/runs/a.jsonl/episodes/8?reward=right"`);
});

Deno.test("the groups have pass@n", async () => {
  await using folder = await TempFolder.of({
    "a.jsonl": runOf(4, (at) => ({ id: "same", reward: at === 0 ? 1 : 0 })),
  });
  const { text } = await read(await open(folder), "/runs/a.jsonl/groups");
  for (const value of ["pass@1", "pass@2", "pass@4", "0.25", "0.5", "1 of 4", "?group=same#episodes"]) {
    assertStringIncludes(text, value);
  }
});

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
        },
      ],
      tokens: { ids: [5, 6], lossMask: [0, 1], logProbs: [0, -1.5], promptLength: 1, promptText: "p" },
    }),
  });
  const { text } = await read(await open(folder), "/runs/a.jsonl/episodes/1");
  for (
    const part of [
      `id="turn-1"`,
      `href="#turn-2"`,
      "77 ms",
      "peak memory 33 MiB",
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
  const viewer = await open(folder);
  for (const number of [1, 2]) {
    const { text } = await read(viewer, `/runs/a.jsonl/episodes/${number}`);
    assertStringIncludes(text, `href="/runs/a.jsonl/episodes/2?turn=2#turn-2"`);
    assertStringIncludes(text, "from turn 2");
  }
  assertFalse((await read(viewer, "/runs/a.jsonl/episodes/3")).text.includes("Branches"));
});

Deno.test("two runs are compared by task, the largest change first", async () => {
  await using folder = await TempFolder.of({
    "a.jsonl": runOf(8, (at) => ({ id: `t${at}`, sample: 1, reward: at === 1 ? 1 : 0 })),
    "b.jsonl": runOf(8, (at) => ({ id: `t${at}`, sample: 1, reward: at > 4 ? 1 : 0 })),
  });
  const viewer = await open(folder);
  const { text } = await read(viewer, "/runs/compare?run=a.jsonl&run=b.jsonl");
  assertStringIncludes(text, "3, 1, 4"); // better, worse, same
  assertStringIncludes(text, "p = 0.625");
  assertStringIncludes(text, "+0.25 (");
  const worse = await read(viewer, "/runs/compare?run=a.jsonl&run=b.jsonl&change=worse");
  assertEquals(worse.text.match(/>t\d</g), [">t1<"]);
  assertEquals((await read(viewer, "/runs/compare?run=a.jsonl")).status, 400);
});

Deno.test("the filtered episodes are exported unchanged, and as CSV without formulas", async () => {
  const lines = [rowOf({ id: "=1+1", reward: 0 }), rowOf({ id: 'a "b", c', reward: 1 })];
  await using folder = await TempFolder.of({ "a.jsonl": `${lines.join("\n")}\n` });
  const viewer = await open(folder);
  assertEquals((await read(viewer, "/runs/a.jsonl/export.jsonl?reward=right")).text, `${lines[1]}\n`);
  const { text, headers } = await read(viewer, "/runs/a.jsonl/export.csv");
  assertStringIncludes(headers.get("content-disposition") ?? "", "attachment");
  assertStringIncludes(text, "1,'=1+1,");
  assertStringIncludes(text, `2,"a ""b"", c",`);
});

/** Texts that a page must show and never obey. */
const HOSTILE = [
  `</pre></code><script>alert(1)</script>`,
  `<img src=x onerror=alert(1)>`,
  `"><svg/onload=alert(1)>`,
  `javascript:alert(1)`,
  `<!--<style>*{display:none}</style>`,
  "\x1b]52;c;ZXZpbA==\x07\x1b[2J",
  "user\u202etxt.exe\u2066\u{e0041}",
  "\ud800",
].join("\n");

Deno.test("hostile content in any field is shown as text", async () => {
  const evil = { [HOSTILE]: HOSTILE };
  const row = rowOf({
    id: HOSTILE,
    messages: [
      { role: HOSTILE, content: HOSTILE, name: HOSTILE, reasoning_content: HOSTILE },
      {
        role: "assistant",
        content: `\`\`\`${HOSTILE}\n${HOSTILE}\n\`\`\``,
        tool_calls: [{ name: HOSTILE, arguments: evil }],
      },
      { role: "tool", content: [{ type: "image", data: HOSTILE, mime_type: "image/png", name: HOSTILE }] },
      {
        role: "tool",
        content: [{ type: "image", url: "http://example.org/x.png" }, {
          type: "image",
          data: "AAAA",
          mime_type: "text/html",
        }],
      },
    ],
    rewardParts: { [HOSTILE]: 1 },
    info: evil,
    unscored: HOSTILE,
    error: { boundary: HOSTILE, name: HOSTILE, message: HOSTILE },
    versions: { paddock: HOSTILE, policy: HOSTILE, env: HOSTILE, weights: HOSTILE },
    steps: [{ turn: 1, policyMs: 1, envMs: 1, reward: 0, finishReason: HOSTILE, weightVersion: HOSTILE }],
    toolResults: [{
      turn: 1,
      tool: HOSTILE,
      status: HOSTILE,
      display: [{
        [HOSTILE]: HOSTILE,
        "text/html": HOSTILE,
        "image/png": `" onload="alert(1)`,
        "text/plain": HOSTILE,
      }],
    }],
  });
  await using folder = await TempFolder.of({
    "a.jsonl": `${row}\n${HOSTILE.replaceAll("\n", " ")}\n`,
    "<b>.jsonl": `${row}\n`,
  });
  const viewer = await open(folder);
  const search = `?${new URLSearchParams({ text: HOSTILE, task: HOSTILE })}&error=${
    encodeURIComponent(`"><script>`)
  }`;
  const run = "/runs/a.jsonl";
  for (
    const path of [
      "/runs",
      run,
      run + search,
      `${run}/groups`,
      `${run}/episodes/1`,
      `${run}/episodes/1?all=1`,
      `${run}/episodes/2`,
      "/runs/compare?run=a.jsonl&run=%3Cb%3E.jsonl",
      `/runs/${encodeURIComponent(HOSTILE.toWellFormed())}`,
    ]
  ) {
    const { text, headers } = await read(viewer, path);
    const policy = headers.get("content-security-policy") ?? "";
    assertStringIncludes(policy, "script-src 'self';", path);
    assertFalse(policy.includes("unsafe"), path);
    assertEquals(text.match(/<script[^>]*>/g), [`<script src="/runs/assets/viewer.js" defer>`], path);
    assertEquals(text.match(/<(?:svg\/|style|iframe|object|embed|base|b>)/gi), null, path);
    const attributes = Array.from(
      text.matchAll(/<[a-z][^<>"]*(?:"[^"]*"[^<>"]*)*>/g),
      ([tag]) => tag.replace(/"[^"]*"/g, ""),
    );
    assertEquals(attributes.filter((tag) => /\son\w+=|\sstyle=/i.test(tag)), [], path);
    for (const [, address = ""] of text.matchAll(/\s(?:href|src|action)="([^"]*)"/g)) {
      assert(/^(?:\/runs|#|\?|data:)/.test(address), `${path}: ${address}`);
      assertFalse(address.startsWith("data:text"), address);
    }
    const shown = text.replace(/ value="[^"]*"/g, ""); // the value of a field is sent back as it is
    // deno-lint-ignore no-control-regex
    const hidden = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|[\u{e0000}-\u{e007f}]/u;
    assertFalse(hidden.test(shown), path);
  }
  const { text } = await read(viewer, `${run}/episodes/1`);
  assertStringIncludes(text, "&lt;script&gt;alert(1)&lt;/script&gt;");
  assertStringIncludes(text, `<span class="hidden-char">\\u202e</span>`);
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
  const { status, text } = await read(await open(folder), "/runs/a.jsonl/episodes/1");
  assertEquals(status, 200);
  assertStringIncludes(text, "finish: 5");
  assertFalse(text.includes("tokens of prompt"));
});

Deno.test("the raw row is text that a browser neither runs nor renders", async () => {
  const line = rowOf({ id: "<script>alert(1)</script>" });
  await using folder = await TempFolder.of({ "a.jsonl": `${line}\n` });
  const { text, headers } = await read(await open(folder), "/runs/a.jsonl/episodes/1/raw");
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
  const viewer = await open(folder);
  assertEquals((await read(viewer, "/runs/a.jsonl")).status, 200);
  const { text } = await read(viewer, "/runs/a.jsonl/episodes/1");
  assert(text.length < 1024 * 1024 * 2, `${text.length}`);
  assertStringIncludes(text, "more characters");
});

Deno.test("the events of a run follow its file", async () => {
  await using folder = await TempFolder.of({ "a.jsonl": runOf(2) });
  const controller = new AbortController();
  const viewer = await open(folder, controller.signal);
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

function assertFalse(value: boolean, message?: string): void {
  assertEquals(value, false, message);
}
