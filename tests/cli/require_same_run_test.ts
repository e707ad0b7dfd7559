import { assertThrows } from "@std/assert";
import { requireSameRun, requireSameTokens } from "../../src/cli/require_same_run.ts";
import { UsageError } from "../../src/cli/usage_error.ts";
import { parseInteraction } from "../../src/rollout/interaction_result.ts";
import { emptyTrajectory, type Trajectory } from "../../src/rollout/trajectory.ts";
import { byteTokenizer } from "../byte_tokenizer.ts";

const EMPTY = emptyTrajectory({ id: "a", query: "q" }, { policy: "m" });

function require(trajectory: Partial<Trajectory>, grader: string, policy = "m"): void {
  requireSameRun({ ...EMPTY, ...trajectory }, { out: "x", policy, grader });
}

Deno.test("requireSameRun() lets the same policy and grader pass, and what does not tell them", () => {
  require({ reward: 1, rewardParts: { math: 1 } }, "math");
  require({ reward: null, rewardParts: { hidden_tests: null } }, "hidden_tests");
  require({ reward: 1, rewardParts: { judge: 1, math: 0 } }, "math");
  require({}, "none");
  require({ reward: 1, rewardParts: { of_its_env: 1 } }, "math");
  require({ reward: 1, versions: { paddock: "1" } }, "math");
});

Deno.test("requireSameRun() refuses what another has played or scored", () => {
  const cases: [Partial<Trajectory>, string, string][] = [
    [{ reward: 1, rewardParts: { gsm8k: 1 } }, "math", "must be scored by 'math': one is scored by 'gsm8k'"],
    [{ reward: 1, rewardParts: { gsm8k: 1 } }, "none", "must be scored by 'none': one is scored by 'gsm8k'"],
    [{}, "math", "must be scored by 'math': one is scored by 'none'"],
    [{ versions: { paddock: "1", policy: "n" } }, "none", "must hold episodes of 'm': it has one of 'n'"],
  ];
  for (const [trajectory, grader, says] of cases) {
    assertThrows(() => require(trajectory, grader), UsageError, says);
  }
});

Deno.test("requireSameTokens() refuses an episode of another tokenizer", () => {
  const tokenizer = byteTokenizer();
  const prompt = "<|im_start|>user\n\ufffd é";
  const tokens = [...tokenizer.encode(prompt), 1, 2];
  const result = parseInteraction({
    prompt,
    tokens,
    loss_mask: [1, 1],
    response_length: 2,
    log_probs: null,
    turns: [],
    errors: [],
    reward: null,
    messages: [],
    info: {},
    response: "",
    status: "completed",
    reward_parts: {},
    task_id: "a",
    task_hash: "h",
    sample: 1,
  });
  requireSameTokens(result, { out: "x", tokenizer });
  const other = byteTokenizer({ specialTokens: ["<|im_end|>", "<|im_start|>"] });
  assertThrows(
    () => requireSameTokens(result, { out: "x", tokenizer: other }),
    UsageError,
    "they are others",
  );
});
