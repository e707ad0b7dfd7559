import { concat } from "@std/bytes";
import type { Attack, ServerCase } from "../case.ts";
import { repeat } from "../tenant.ts";

const MEGABYTE = 1_000_000;
/** Below the limit of a body, which is 32 MiB. */
const BODY = 25 * MEGABYTE;
const LANES = 2;

/** Requests whose cost is out of proportion to their size. */
export const BOMBS: readonly ServerCase[] = [
  {
    name: "regex-entry-point",
    fault: "S1",
    about: "a grade whose entry point is a pattern that backtracks",
    play: grades(() => ({
      grader: "hidden_tests",
      task: { fields: { entry_point: "(a+)+", tests: ["assert f(1)"] } },
      messages: [{ role: "assistant", content: `${"a".repeat(60)}!` }],
    })),
  },
  {
    name: "regex-truth",
    fault: "S2",
    about: "a math grade whose answer is a megabyte of punctuation",
    play: grades((number) => ({
      grader: "math",
      task: { answer: `${(".{;(\\,^"[number % 7] ?? ".").repeat(MEGABYTE)}1` },
      messages: [{ role: "assistant", content: "\\boxed{4}" }],
    })),
  },
  {
    name: "grade-replies",
    fault: "S2",
    about: "replies of a megabyte that make each grader's patterns work; combining marks and half surrogates",
    play: grades((number) => ({
      grader: ["gsm8k", "math", "countdown", "ifeval", "exact_match", "number_match"][number % 6],
      task: {
        answer: number % 2 === 0 ? "4" : "\u0301".repeat(100_000),
        fields: {
          target: 24,
          nums: [1, 2, 3, 4],
          numbers: [1, 2, 3, 4],
          instruction_id_list: ["change_case:english_lowercase"],
          kwargs: [{}],
        },
      },
      messages: [{ role: "assistant", content: GRADED[number % GRADED.length] }],
    })),
  },
  {
    name: "json-small-values",
    fault: "S7",
    about: "25 MB of small JSON values: a million names of files",
    twin: "bodies",
    ...bodies(() => [
      ["/v1/exec:batch", `{"items":[{"code":"1","files":{${members('"":""', BODY)}}}]}`],
      ["/v1/exec:batch", `{"items":[${"{},".repeat(BODY / 3)}{}]}`],
    ]),
  },
  {
    name: "json-unknown-keys",
    fault: "S7",
    about: "25 MB of keys that no schema knows",
    twin: "bodies",
    ...bodies(() => [
      ["/v1/sessions", `{${members('"":1', BODY)}}`],
      ["/run_code", `{"code":"1",${members('"":1', BODY)}}`],
    ]),
  },
  {
    name: "json-values-everywhere",
    fault: "S7",
    about: "25 MB of empty lists and of open brackets, on the routes of each protocol",
    twin: "bodies",
    ...bodies(() => [...toEveryRoute(`[${"[],".repeat(BODY / 3)}[]]`), ...toEveryRoute("[".repeat(BODY))]),
  },
  {
    name: "json-digits",
    fault: "S7",
    about: "one number of 25 million digits, a text of escapes, and submissions of a megabyte of fences",
    twin: "bodies",
    ...bodies(() => [
      ...["```python\n", "`", "``` \n", " ```", "```python\n```"].map((piece) =>
        [
          "/submit",
          JSON.stringify({
            dataset: "x",
            id: 1,
            completion: piece.repeat(MEGABYTE / piece.length),
            config: { dataset_type: "CommonOJDataset", language: "python", provided_data: { test: TESTS } },
          }),
        ] as const
      ),
      ["/v1/sessions", `{"seed":${"9".repeat(BODY)}}`],
      ["/run_code", `{"code":"${"\\ud800".repeat(BODY / 6)}"}`],
    ]),
  },
  {
    name: "piston-files",
    fault: "S7",
    about: "a Piston request with a million files",
    twin: "bodies",
    ...bodies(() => [[
      "/api/v2/execute",
      `{"language":"python","version":"3","files":[${'{"content":""},'.repeat(BODY / 16)}{"content":"1"}]}`,
    ]]),
  },
  {
    name: "gzip-body",
    fault: "S7",
    about: "compressed bodies that unpack to a gigabyte",
    async play({ hostile, ...run }) {
      const packed = await packedGigabyte();
      const headers = { "content-encoding": "gzip" };
      await repeat(
        LANES,
        run,
        async () => (await hostile.post("/run_code", packed, { ...run, headers })).status,
      );
    },
  },
];

/** Returns a gzip file that unpacks to a gigabyte of zeros: 64 members of 16 MB each. */
export async function packedGigabyte(): Promise<Uint8Array<ArrayBuffer>> {
  const zeros = new Blob([new Uint8Array(1 << 24)]).stream();
  const member = await new Response(zeros.pipeThrough(new CompressionStream("gzip"))).bytes();
  return concat(Array<Uint8Array<ArrayBuffer>>(64).fill(member));
}

const TESTS = [{ input: { stdin: "" }, output: { stdout: "" } }];

/** Texts that repeat the beginnings of what graders search for. */
const GRADED: readonly string[] = [
  "1,".repeat(500_000),
  "<answer>".repeat(125_000),
  "\\boxed{".repeat(140_000),
  "\\frac{1}".repeat(120_000),
  " ".repeat(MEGABYTE),
  "((((1+2)*".repeat(110_000),
  "<think>\n".repeat(120_000),
  "9".repeat(MEGABYTE),
  "- * ".repeat(250_000),
  "e\u0301".repeat(200_000),
  "\ud83d\u200d".repeat(200_000),
  "\u202e\u2066".repeat(200_000),
  "ﷺ".repeat(200_000),
];

const EVERY_ROUTE = [
  "/v1/sessions",
  "/v1/exec:batch",
  "/v1/grade",
  "/v1/envs",
  "/run_code",
  "/run_jupyter",
  "/submit",
  "/execute",
  "/api/v2/execute",
  "/step",
  "/reset",
  "/mcp",
  "/contexts",
];

function toEveryRoute(text: string): (readonly [path: string, text: string])[] {
  return EVERY_ROUTE.map((path) => [path, text] as const);
}

/** Returns members of an object with different names; `form` shows one with an empty name. */
function members(form: string, bytes: number): string {
  const parts: string[] = [];
  let length = 0;
  while (length < bytes) {
    const part = form.replace('""', `"k${parts.length}"`);
    parts.push(part);
    length += part.length + 1;
  }
  return parts.join(",");
}

function grades(body: (number: number) => object): (attack: Attack) => Promise<void> {
  return async ({ hostile, ...run }) => {
    let number = 0;
    await repeat(LANES, run, async () => (await hostile.post("/v1/grade", body(number++), run)).status);
  };
}

/** Sends bodies in turn. They are encoded before, so that the attacker is faster than the server. */
function bodies(
  texts: () => readonly (readonly [path: string, text: string])[],
): Required<Pick<ServerCase, "prepare" | "play">> {
  let requests: { readonly path: string; readonly body: Uint8Array<ArrayBuffer> }[] = [];
  return {
    prepare() {
      const known = new Map<string, Uint8Array<ArrayBuffer>>();
      requests = texts().map(([path, text]) => {
        const body = known.get(text) ?? new TextEncoder().encode(text);
        known.set(text, body);
        return { path, body };
      });
    },
    async play({ hostile, ...run }) {
      let number = 0;
      await repeat(LANES, run, async () => {
        const { path, body } = requests[number++ % requests.length] ?? { path: "/", body: "" };
        return (await hostile.post(path, body, run)).status;
      });
      requests = [];
    },
  };
}
