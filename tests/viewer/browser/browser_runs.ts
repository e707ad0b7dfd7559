import { join } from "node:path";
import { rowOf, runOf } from "../saved_rows.ts";

/** Text that a browser would run or obey if a page did not escape it. */
const HOSTILE = [
  `</pre></code></script><script>globalThis.attacked = true</script>`,
  `<img src="http://127.0.0.1:9/x.png" onerror="globalThis.attacked = true">`,
  `<style>* { display: none !important }</style><meta http-equiv="refresh" content="0;url=http://127.0.0.1:9/">`,
  `\x1b]0;title\x07\x1b[31mred \u202egnp.exe\u2066 \u{e0041} \ud800`,
].join("\n");

/** PNG of 48 × 24 pixels, all of one colour. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAADAAAAAYCAIAAAAzn+mLAAAALElEQVR42u3OAQkAAAgDsAczmBGNZQ3BwQIs1XNKhISEhISEhISEhISEfoUW6JKuW0bE2IsAAAAASUVORK5CYII=";

const CODE = `import math

def area(radius: float) -> float:
    """Area of a circle."""
    return math.pi * radius ** 2  # not 2 * r

print(f"{area(3.5):.2f}")`;

/** Row of an episode with everything that a page shows. */
function fullRow(): string {
  const ids = [
    ...new TextEncoder().encode("user: What is the area?\nassistant: It is "),
    257,
    10,
    52,
    50,
    257,
  ];
  const sampled = ids.map((_, at) => at > 35 ? 1 : 0);
  return rowOf({
    id: "circle/area",
    reward: 0.75,
    rewardParts: { answer: 1, format: 0.5 },
    turns: 2,
    task: { id: "circle/area", query: "What is the area?", answer: "38.48" },
    messages: [
      { role: "system", content: "You may run Python." },
      { role: "user", content: "What is the area of a circle of radius 3.5?" },
      {
        role: "assistant",
        content: `I compute it:\n\n\`\`\`python\n${CODE}\n\`\`\``,
        reasoning_content: "πr²",
      },
      { role: "tool", name: "python", content: "38.48\n" },
      {
        role: "assistant",
        content: "",
        tool_calls: [{ name: "plot", arguments: { code: "show(1)", size: 3 } }],
      },
      { role: "user", content: "مرحبا שלום 名前 👩‍🔬" },
    ],
    steps: [1, 2].map((turn) => ({
      turn,
      policyMs: 812,
      envMs: 40,
      reward: turn === 2 ? 0.75 : null,
      finishReason: "stop",
      usage: { promptTokens: 1_024, replyTokens: 96 },
    })),
    toolResults: [
      {
        turn: 1,
        call: 1,
        callId: "a",
        tool: "python",
        status: "ok",
        durationMs: 31,
        truncated: false,
        peakMemoryBytes: 34_603_008,
      },
      {
        turn: 2,
        call: 1,
        callId: "b",
        tool: "plot",
        status: "timeout",
        durationMs: 10_000,
        truncated: true,
        stateKept: false,
        display: [{ "image/png": PNG, "text/plain": "<Figure>" }, { "text/html": "<b>bold</b>" }],
      },
    ],
    tokens: {
      ids,
      lossMask: sampled,
      logProbs: sampled.map((bit, at) => bit * -(at % 7)),
      promptLength: 24,
      promptText: "x",
    },
    info: { difficulty: 3 },
  });
}

/** Row whose fields all have hostile texts. */
function hostileRow(): string {
  return rowOf({
    id: HOSTILE,
    messages: [
      { role: HOSTILE, content: HOSTILE },
      {
        role: "assistant",
        content: `\`\`\`${HOSTILE}\n\`\`\`python\n${HOSTILE}`,
        tool_calls: [{ name: HOSTILE, arguments: HOSTILE }],
      },
      {
        role: "tool",
        content: [{ type: "image", url: "http://127.0.0.1:9/x.png" }, { type: "image", data: "QUJD" }],
      },
    ],
    error: { boundary: HOSTILE, name: HOSTILE, message: HOSTILE },
    toolResults: [{
      turn: 1,
      tool: HOSTILE,
      status: HOSTILE,
      display: [{ "text/html": HOSTILE, "image/svg+xml": HOSTILE }],
    }],
    rewardParts: { [HOSTILE]: 1 },
  });
}

/** Rows with numbers that are too large, too small, or of more parts than fit a page. */
function numberRows(): string {
  const rewards = [1e308, -1e308, 5e-324, 1e20, 0, 0.123456789];
  return rewards.map((reward, at) =>
    rowOf({
      id: `number-${at}`,
      reward,
      rewardParts: Object.fromEntries(Array.from({ length: 40 }, (_, part) => [`part-${part}`, part * at])),
      times: { totalMs: 10 ** (at * 3), policyMs: 0, envMs: 0 },
      turns: 10 ** (at * 2),
      tokens: at === 0 ? undefined : { ids: Array(10 ** Math.min(at, 4)).fill(65), lossMask: [] },
    })
  ).join("\n") + "\n";
}

/** Row of an episode with more messages than a page shows, and images that are none. */
function longRow(): string {
  const turns = Array.from({ length: 400 }, (_, at) => at + 1);
  const images = ["iVBORw0KGgo=", "QUJD"].map((data) => ({ type: "image", data, mime_type: "image/png" }));
  return rowOf({
    id: "long",
    turns: turns.length,
    messages: [
      { role: "user", content: images },
      ...turns.flatMap((turn) => [
        { role: "assistant", content: `<think>\nStep ${turn}\n</think>\nReply ${turn}` },
        { role: "user", content: "next" },
      ]),
    ],
    steps: turns.map((turn) => ({ turn, policyMs: turn * 3 % 170, envMs: turn * 7 % 90, reward: null })),
  });
}

/** Writes the runs that the pages show. */
export async function writeRuns(folder: string): Promise<void> {
  const rows = (solved: number) =>
    runOf(240, (at) => ({
      reward: (at * 7 + Math.floor(at / 40)) % 10 < solved ? 1 : 0,
      turns: 1 + at % 5,
      rewardParts: { answer: at % 10 < solved ? 1 : 0, format: (at % 4) / 4 },
      times: { totalMs: 200 + (at * 37) % 900, policyMs: 0, envMs: 0 },
      toolResults: [{
        turn: 1,
        call: 1,
        callId: "a",
        tool: "python",
        status: at % 9 ? "ok" : "error",
        durationMs: 3,
      }],
    }));
  const tree = [
    rowOf({ id: "tree" }).replace("{", `{"id":"root",`),
    rowOf({ id: "tree", reward: 0 }).replace("{", `{"id":"left","parent":{"id":"root","turn":1},`),
    rowOf({ id: "tree" }).replace("{", `{"id":"leaf","parent":{"id":"left","turn":1},`),
  ];
  const files = {
    "baseline.jsonl": rows(4),
    "trained/step-200.jsonl": rows(7),
    "full.jsonl": `${[fullRow(), ...tree, "damaged"].join("\n")}\n`,
    "hostile.jsonl": `${hostileRow()}\n${hostileRow()}\n`,
    "long.jsonl": `${longRow()}\n`,
    "numbers.jsonl": numberRows(),
    "live.jsonl": runOf(4),
  };
  await Deno.mkdir(join(folder, "trained"));
  for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(join(folder, name), text);
}
