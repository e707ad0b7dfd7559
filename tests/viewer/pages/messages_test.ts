import { assertEquals, assertStringIncludes } from "@std/assert";
import { type FC, jsx } from "hono/jsx";
import type { EpisodeView } from "../../../src/viewer/episode/episode_view.ts";
import { Chat } from "../../../src/viewer/pages/messages.tsx";

const EMPTY: EpisodeView = {
  kind: "trajectory",
  messages: [],
  answer: undefined,
  reward: null,
  rewardParts: {},
  unscored: undefined,
  info: {},
  taskData: {},
  errors: [],
  turns: [],
  calls: [],
  tokens: undefined,
  times: { totalMs: 0, policyMs: 0, envMs: 0 },
  facts: {},
};

function chat(episode: Partial<EpisodeView>, { from = 0, to = 300, text = 1_000 } = {}): string {
  const messages = episode.messages ?? [];
  return String(jsx(Chat as FC, {
    episode: { ...EMPTY, ...episode },
    limits: { text, page: 1_000_000 },
    range: { from, to: Math.min(to, messages.length) },
    hrefFrom: (message: number) => `?from=${message}`,
  }));
}

Deno.test("Chat shows texts of a model as text, in messages, names, calls and results", () => {
  const html = chat({
    messages: [
      { role: "<script>", name: "<b>", content: "<img src=x onerror=alert(1)>" },
      {
        role: "assistant",
        content: "",
        tool_calls: [{ name: "<i>", arguments: { code: "<u>", q: "</pre>" } }],
      },
      { role: "tool", content: "<svg onload=alert(1)>" },
    ],
  });
  assertEquals(/<(?:script|img|svg|b|i|u)[ >]/.test(html), false);
  for (const text of ["&lt;img src=x", "&lt;svg onload", "&lt;script&gt;"]) assertStringIncludes(html, text);
});

Deno.test("Chat never loads an address that a message names", () => {
  const html = chat({
    messages: [{ role: "user", content: [{ type: "image", url: "http://tracker.test/a.png" } as never] }],
  });
  assertEquals(/(?:src|href)="http/.test(html), false);
  assertStringIncludes(html, "tracker.test");
});

Deno.test("Chat separates thoughts and code from prose, and says how much of a text is left out", () => {
  const html = chat(
    { messages: [{ role: "assistant", content: "<think>hm</think>So:\n```python\nprint(1)\n```" }] },
  );
  assertStringIncludes(html, "Reasoning in &lt;think&gt;");
  assertEquals(html.match(/<details class="reasoning"/g)?.length, 1);
  assertStringIncludes(
    chat({ messages: [{ role: "user", content: "x".repeat(1_500) }] }),
    "… 500 more characters",
  );
});

Deno.test("Chat shows at most a hundred parts of a message", () => {
  const content = Array.from({ length: 103 }, () => ({ type: "text" as const, text: "part" }));
  const html = chat({ messages: [{ role: "user", content }] });
  assertEquals(html.match(/>part</g)?.length, 100);
  assertStringIncludes(html, "… 3 more, which the raw JSON has");
});

Deno.test("Chat has pages only where messages are left out", () => {
  const messages = Array.from({ length: 5 }, (_, at) => ({ role: "user", content: `m${at}` }));
  assertEquals(chat({ messages }).includes("pager"), false);
  const html = chat({ messages }, { from: 2, to: 4 });
  assertStringIncludes(html, "Messages 3 to 4 of 5");
  for (const href of ["?from=0", "?from=4"]) assertStringIncludes(html, `href="${href}"`);
  assertEquals([html.includes(">m1<"), html.includes(">m2<"), html.includes(">m4<")], [false, true, false]);
});

Deno.test("Chat lists a call under its turn, and calls of turns without a message at the end", () => {
  const html = chat({
    messages: [{ role: "user", content: "q" }, { role: "assistant", content: "a" }],
    turns: [{ turn: 1, policyMs: 5, envMs: 2, reward: 0.5 } as EpisodeView["turns"][number]],
    calls: [
      { turn: 1, tool: "python", status: "timeout", durationMs: 7 },
      { turn: 9, tool: "search", status: "ok", durationMs: 3 },
    ] as unknown as EpisodeView["calls"],
  });
  assertStringIncludes(html, 'id="turn-1"');
  assertStringIncludes(html, "policy 5 ms · env 2 ms · reward 0.5");
  assertStringIncludes(html, '<span class="badge bad">timeout</span>');
  assertEquals(html.indexOf("search") > html.indexOf("Tool calls of other turns"), true);
});
