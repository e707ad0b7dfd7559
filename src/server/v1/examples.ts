/**
 * Examples of requests and responses of `/v1`. `/openapi.json` shows them; a test checks each with the schema.
 *
 * @module
 */

const ID = "0f8fad5bd9cb469fa16570867728950e";
const CREATED_AT = "2026-01-31T09:00:00.000Z";
const RESULT = {
  status: "ok",
  stdout: "42\n",
  stderr: "",
  durationMs: 3.1,
  stateKept: true,
  truncated: false,
  peakMemoryBytes: 34_603_008,
};

/** Example of a session. */
export const SESSION = {
  id: ID,
  createdAt: CREATED_AT,
  usedAt: CREATED_AT,
  execs: 0,
  limits: { timeoutMs: 10_000 },
  metadata: { user: "ada" },
};
/** Example of a new session's options. */
export const CREATE_SESSION = {
  seed: 7,
  ttlSeconds: 1_800,
  limits: { timeoutMs: 10_000 },
  metadata: { user: "ada" },
};
/** Example of a checkpoint. */
export const CHECKPOINT = {
  id: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  bytes: 18_211,
  tools: [],
  createdAt: CREATED_AT,
  usedAt: CREATED_AT,
  expiresAt: "2026-02-01T09:00:00.000Z",
};
/** Example of an answer to a call. */
export const CALL_ANSWER = { value: 42 };
/** Example of an answer with which a program goes on. */
export const RESUME = { callId: "call_1", value: 42 };
/** Example of a program. */
export const PROGRAM = { code: "answer = 6 * 7\nprint(answer)", timeoutMs: 5_000 };
/** Example of a program's result. */
export const PROGRAM_RESULT = RESULT;
/** Example of a streamed program. */
export const PROGRAM_EVENTS = [
  `event: stdout\ndata: {"text":"42\\n"}\n\n`,
  `event: result\ndata: ${JSON.stringify(RESULT)}\n\n`,
].join("");
/** Example of a command line. */
export const COMMAND = { command: "ls | wc -l", timeoutMs: 5_000 };
/** Example of a command line's result. */
export const COMMAND_RESULT = { ...RESULT, stdout: "0\n", cwd: "/home/pyodide" };
/** Example of a batch. */
export const BATCH = { items: [{ code: "sum(xs)", inputs: { xs: [20, 22] } }, { code: "1 / 0" }] };
/** Example of a batch's results. */
export const BATCH_RESULT = {
  results: [{ status: 200, result: { ...RESULT, stdout: "", value: "42", valueJson: 42 } }, {
    status: 404,
    error: { type: "not_found", message: "There is no such session" },
  }],
};
/** Example of a folder's entries. */
export const FILE_LIST = {
  files: [
    { path: "data", bytes: 0, type: "directory", modifiedAt: CREATED_AT },
    { path: "data.txt", bytes: 6, type: "file", modifiedAt: CREATED_AT },
  ],
  total: 2,
};
/** Example of files: a text of a single line. */
export const FILES = { files: { "data.txt": "MSAyIDMK" } };

/** Example of a graded conversation. */
export const GRADE = {
  grader: "gsm8k",
  task: { query: "What is 6 times 7?", answer: "42" },
  messages: [{ role: "assistant", content: "<answer>42</answer>" }],
};
/** Example of a score. */
export const SCORE = { score: 1, parts: { reward_answer: 1, reward_think: 0, reward_right: 1, success: 1 } };

/** Example of an env's options. */
export const ENV_OPTIONS = { grader: "gsm8k", tasks: [{ query: "What is 6 times 7?", answer: "42" }] };
/** Example of an env without an episode. */
export const ENV = {
  id: ID,
  env: "python",
  createdAt: CREATED_AT,
  usedAt: CREATED_AT,
  tasks: 1,
  episode: null,
};
/** Example of an observation. */
export const OBSERVATION = {
  taskId: "task-1",
  messages: [{ role: "user", content: "What is 6 times 7?" }],
  turns: 0,
};
/** Example of the result of a step. */
export const STEP_RESULT = {
  observation: {
    ...OBSERVATION,
    messages: [...OBSERVATION.messages, { role: "assistant", content: "<answer>42</answer>" }],
    turns: 1,
  },
  reward: 1,
  terminated: true,
  truncated: false,
  toolResults: [],
};

/** Example of a streamed step with code that asks. */
export const STEP_EVENTS = [
  `event: call\ndata: {"callId":"call_1","name":"llm_query","arguments":{"prompt":"6 times 7?","number":1,"turn":1}}\n\n`,
  `event: step\ndata: ${JSON.stringify(STEP_RESULT)}\n\n`,
].join("");
/** Example of an answer to a question. */
export const ENV_CALL_ANSWER = { value: "42" };

/** Example of a rollout's options. */
export const ROLLOUT_OPTIONS = {
  policy: "sglang:http://127.0.0.1:30000",
  grader: "gsm8k",
  tasks: [{ id: "product", query: "What is 6 times 7?", answer: "42" }],
  samples: 8,
  concurrency: 4,
  weightVersion: 3,
};
/** Example of a rollout. */
export const ROLLOUT = {
  id: ID,
  createdAt: CREATED_AT,
  policy: ROLLOUT_OPTIONS.policy,
  env: "python" as const,
  weightVersion: 4,
  episodes: 5,
};
/** Example of a streamed rollout. */
export const ROLLOUT_EVENTS = [
  `event: start\ndata: ${JSON.stringify({ id: ID })}\n\n`,
  `event: end\ndata: {"episodes":8,"stopped":false}\n\n`,
].join("");

/** A family of procedural tasks. */
export const FAMILY = {
  env: "paddock/graph-paths",
  about: "the shortest path between two nodes of a directed graph with lengths",
  kind: "reply",
  version: 1,
} as const;

/** A task of a family. */
export const FAMILY_TASK = {
  id: "paddock/graph-paths:1:3:train:0:0",
  query: "A directed graph has these edges, with their lengths in parentheses: …",
  fields: { family: "graph-paths", version: 1, difficulty: 3, seed: 1234 },
};
