import { assertEquals } from "@std/assert";
import {
  type InteractionResult,
  parseInteraction,
  toInteractionResult,
} from "../../../src/rollout/interaction_result.ts";
import {
  shortenInteraction,
  shortenTrajectory,
  toEpisodeRow,
} from "../../../src/rollout/episode/episode_row.ts";
import { emptyTrajectory, type Trajectory } from "../../../src/rollout/trajectory.ts";
import { parseTrajectory } from "../../../src/rollout/trajectory_schema.ts";

const EPISODE: Trajectory = {
  ...emptyTrajectory({ id: "a", query: "q", answer: "1" }, { sample: 2, seed: 9 }),
  messages: [{ role: "user", content: "q" }, { role: "assistant", content: "é".repeat(4000) }],
  reward: 1,
  turns: 1,
  terminated: true,
  tokens: { ids: [1, 2, 3], lossMask: [0, 0, 1], promptLength: 2, promptText: "q", promptMessages: 1 },
};

Deno.test("toEpisodeRow() writes an episode that fits unchanged", () => {
  assertEquals(toEpisodeRow(EPISODE, { shorten: shortenTrajectory }), JSON.stringify(EPISODE));
});

Deno.test("toEpisodeRow() writes an episode that is too long without messages, with a note that readers accept", () => {
  const row = toEpisodeRow(EPISODE, { shorten: shortenTrajectory, maxBytes: 5000 });
  const { task, sample, seed, messages, reward, turns, error } = parseTrajectory(JSON.parse(row));
  assertEquals({ task, sample, seed, messages, reward, turns }, {
    task: EPISODE.task,
    sample: 2,
    seed: 9,
    messages: [],
    reward: null,
    turns: 1,
  });
  const bytes = new TextEncoder().encode(JSON.stringify(EPISODE)).length;
  assertEquals(error, {
    boundary: "env",
    name: "EnvError",
    message: `Cannot save episode as its row must have at most 5000 bytes: it has ${bytes}`,
  });
});

Deno.test("toEpisodeRow() writes an episode that is not JSON as a failed one", () => {
  for (
    const info of [{ id: 1n }, {
      get broken() {
        throw new Error("lost");
      },
    }]
  ) {
    const row = toEpisodeRow({ ...EPISODE, info: { info } }, { shorten: shortenTrajectory });
    assertEquals(parseTrajectory(JSON.parse(row)).error?.boundary, "env");
  }
});

Deno.test("toEpisodeRow() writes a training row that is too long as an aborted one with its prompt", () => {
  const result: InteractionResult = toInteractionResult(EPISODE);
  const row = toEpisodeRow(result, { shorten: shortenInteraction, maxBytes: 5000 });
  const { status, tokens, response, response_length, task_hash, errors } = parseInteraction(JSON.parse(row));
  assertEquals({ status, tokens, response, response_length, task_hash }, {
    status: "aborted",
    tokens: [1, 2],
    response: "",
    response_length: 0,
    task_hash: result.task_hash,
  });
  assertEquals(errors.length, 1);
});
