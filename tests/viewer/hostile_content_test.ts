import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { TempFolder } from "../temp_folder.ts";
import { openViewer, readPage } from "./read_page.ts";
import { rowOf } from "./saved_rows.ts";

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
      { role: "assistant", content: "```\u202e\u2066js\u{e0041}\nx\n```" },
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
  const viewer = await openViewer(folder);
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
    const { text, headers } = await readPage(viewer, path);
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
  const { text } = await readPage(viewer, `${run}/episodes/1`);
  assertStringIncludes(text, "&lt;script&gt;alert(1)&lt;/script&gt;");
  assertStringIncludes(text, `<span class="hidden-char">\\u202e</span>`);
});

function assertFalse(value: boolean, message?: string): void {
  assertEquals(value, false, message);
}
