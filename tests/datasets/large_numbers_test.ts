import { assertEquals } from "@std/assert";
import { TrajectoryFile } from "../../src/cli/rollout/trajectory_file.ts";
import { readDataset } from "../../src/datasets/read_dataset.ts";
import { readTasks } from "../../src/datasets/read_tasks.ts";
import type { Grader } from "../../src/rewards/grader.ts";
import { exactMatch, numberMatch } from "../../src/rewards/text_match.ts";
import { readTrajectories } from "../../src/rollout/read_trajectories.ts";
import { emptyTrajectory } from "../../src/rollout/trajectory.ts";
import { edgeApp } from "../../src/server/edge.ts";
import type { Task } from "../../src/task.ts";
import { served } from "../server/served.ts";
import { gzip, withFiles } from "./temp_files.ts";

const ROW = '{"query":"2**64+1?","answer":18446744073709551617,"seed":12345678901234567890}';
const TASK = {
  query: "2**64+1?",
  answer: "18446744073709551617",
  fields: { seed: "12345678901234567890" },
};

async function tasksOf(text: string | Uint8Array, name: string): Promise<Task[]> {
  return await withFiles({ [name]: text }, (folder) => Array.fromAsync(readDataset(`${folder}/${name}`)));
}

Deno.test("readDataset() reads integers beyond 2^53 from JSON lines, lists and .gz as text", async () => {
  const files: readonly (readonly [string, string | Uint8Array])[] = [
    ["a.jsonl", `${ROW}\n`],
    ["a.json", `[${ROW}]`],
    ["a.json", ROW],
    ["a.ndjson.gz", await gzip(`${ROW}\n`)],
    ["a.json.gz", await gzip(`[\n  ${ROW}\n]`)],
    ["a.csv", "query,answer,seed\n2**64+1?,18446744073709551617,12345678901234567890\n"],
  ];
  for (const [name, text] of files) {
    const [task] = await tasksOf(text, name);
    assertEquals({ ...task, id: "" }, { id: "", ...TASK }, name);
  }
});

const ROWS: readonly (readonly [string, Omit<Task, "id">])[] = [
  ['{"query":"a","answer":9007199254740993}', { query: "a", answer: "9007199254740993" }],
  ['{"query":"a","answer":-9007199254740993}', { query: "a", answer: "-9007199254740993" }],
  ['{"query":"a","answer":1e400}', { query: "a", answer: "1e400" }],
  ['{"query":"a","answer":2.7182818284590452353}', { query: "a", answer: "2.7182818284590452353" }],
  ['{"query":"a","answer":-0}', { query: "a", answer: "0" }],
  ['{"problem":"a","solution":"s","answer":9007199254740993}', {
    query: "a",
    answer: "9007199254740993",
    fields: { solution: "s" },
  }],
  ['{"query":"a","fields":{"tests":[[9007199254740993,[1]],{"n":9007199254740993}]}}', {
    query: "a",
    fields: { tests: [["9007199254740993", [1]], { n: "9007199254740993" }] },
  }],
  ['{"query":"a","x":0.1234567890123456789}', { query: "a", fields: { x: 0.12345678901234568 } }],
];

for (const [row, expected] of ROWS) {
  Deno.test(`readDataset() reads ${row} with all digits`, async () => {
    const [task] = await tasksOf(`[${row}]`, "a.json");
    assertEquals({ ...task, id: "" }, { id: "", ...expected });
  });
}

Deno.test("readDataset() uses an integer beyond 2^53 as the id of a row", async () => {
  const [task] = await tasksOf('{"query":"a","id":12345678901234567891}\n', "a.jsonl");
  assertEquals(task?.id, "12345678901234567891");
});

Deno.test("readDataset() keeps large integers in the calls of a conversation", async () => {
  const [task] = await tasksOf(
    '{"query":[{"role":"user","content":"u"},{"role":"assistant","content":"","tool_calls":[{"function":' +
      '{"name":"show","arguments":{"tweet":1234567890123456789}}}]},{"role":"user","content":"v"}]}\n',
    "a.jsonl",
  );
  const call = Array.from<unknown>(task?.query ?? [])[1];
  assertEquals(Object(call).tool_calls[0].arguments_text, '{"tweet":1234567890123456789}');
});

Deno.test("a trajectory with large integers is written, read and recognized by --resume", async () => {
  await withFiles({ "a.jsonl": `${ROW.replace('"seed"', '"level"')}\n` }, async (folder) => {
    const [task] = await Array.fromAsync(readDataset(`${folder}/a.jsonl`));
    if (task === undefined) throw new Error("There must be a task");
    {
      using file = await TrajectoryFile.open(`${folder}/out.jsonl`, {});
      await file.write({ ...emptyTrajectory(task, { sample: 1 }), terminated: true });
    }
    const [saved] = await Array.fromAsync(readTrajectories(`${folder}/out.jsonl`));
    assertEquals(saved?.task, task);
    using resumed = await TrajectoryFile.open(`${folder}/out.jsonl`, { resume: true });
    const [again] = await Array.fromAsync(readDataset(`${folder}/a.jsonl`));
    assertEquals(resumed.takeFinished(again ?? task, 1), true);
    assertEquals(resumed.takeFinished({ ...task, answer: "18446744073709551618" }, 1), false);
  });
});

Deno.test("a grader tells integers of a file apart that are one double", async () => {
  await withFiles({ "a.jsonl": '{"query":"a","answer":9007199254740993}\n' }, async (folder) => {
    const [task] = await Array.fromAsync(readTasks(`${folder}/a.jsonl`));
    const score = async (reply: string) => {
      const history = [{ role: "assistant", content: reply }];
      const response = await grade("number_match", `{"answer":${task?.answer}}`, history);
      return response;
    };
    assertEquals(await score("It is 9007199254740993."), 1);
    assertEquals(await score("It is 9007199254740992."), 0);
  });
});

const graders = new Map<string, () => Grader>([
  ["number_match", () => numberMatch()],
  ["exact_match", () => exactMatch()],
]);

/** Grades with `/v1/grade`; the task is JSON text. */
async function grade(grader: string, task: string, messages: unknown): Promise<number | null> {
  await using server = served({ graders });
  const body = `{"grader":"${grader}","task":${task},"messages":${JSON.stringify(messages)}}`;
  const { status, body: result } = await server.send("POST", "/v1/grade", body);
  assertEquals(status, 200, JSON.stringify(result));
  return result.score;
}

Deno.test("/v1/grade compares with all digits of an integer, at both places of an answer", async () => {
  await using server = served({ graders });
  for (const answer of ["9007199254740993", "18446744073709551617", "0.1234567890123456789"]) {
    for (const given of [`"answer":${answer}`, `"task":{"answer":${answer}}`]) {
      const body = `{"grader":"exact_match","completion":"<answer>${answer}</answer>",${given}}`;
      const { body: { score } } = await server.send("POST", "/v1/grade", body);
      assertEquals(score, 1, body);
    }
  }
});

Deno.test("the edge server compares with all digits of an integer", async () => {
  await using app = edgeApp({ token: "a token of the test" });
  const send = async (path: string, body: string) => {
    const response = await app.fetch(
      new Request(`http://localhost:8000${path}`, {
        method: "POST",
        body,
        headers: { authorization: "Bearer a token of the test" },
      }),
    );
    return await response.json();
  };
  const item = (reply: string) =>
    `{"grader":"exact_match","completion":"<answer>${reply}</answer>","answer":9007199254740993}`;
  assertEquals((await send("/grade", item("9007199254740993"))).score, 1);
  assertEquals((await send("/grade", item("9007199254740992"))).score, 0);
  const { results } = await send("/grade:batch", `{"items":[${item("9007199254740993")}]}`);
  assertEquals(results[0].result.score, 1);
});

Deno.test("/v1/envs gives graders large integers with all digits", async () => {
  const seen: unknown[] = [];
  const grader: Grader = {
    name: "seen",
    grade: ({ task: { answer, fields } }) => {
      seen.push({ answer, fields });
      return 1;
    },
  };
  await using server = served({ graders: new Map([["seen", () => grader]]) });
  const task = '{"query":"q","answer":9007199254740993,"fields":{"n":9007199254740993}}';
  const { body: { id } } = await server.send(
    "POST",
    "/v1/envs",
    `{"env":"chat","grader":"seen","tasks":[${task}]}`,
  );
  for (const body of ["{}", `{"task":${task}}`]) {
    await server.send("POST", `/v1/envs/${id}/reset`, body);
    await server.send("POST", `/v1/envs/${id}/step`, { reply: "42" });
  }
  const expected = { answer: "9007199254740993", fields: { n: "9007199254740993" } };
  assertEquals(seen, [expected, expected]);
});
