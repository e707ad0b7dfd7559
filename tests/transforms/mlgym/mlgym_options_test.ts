import { assertThrows } from "@std/assert";
import { loadAgentConfig } from "../../../src/envs/workspace/config/load_agent_config.ts";
import { IsolateCodeBlock } from "../../../src/transforms/mlgym/isolate_code_block.ts";
import { MessageToHistory } from "../../../src/transforms/mlgym/message_to_history.ts";
import { TaskSampler } from "../../../src/transforms/mlgym/task_sampler.ts";
import { TemplateTransform } from "../../../src/transforms/mlgym/template_transform.ts";

const agent = await loadAgentConfig();

Deno.test("IsolateCodeBlock refuses an unknown parser and a negative maxRequeries", () => {
  const odd = { ...agent, outputParser: "Best" };
  assertThrows(
    () => new IsolateCodeBlock({ tasks: [], agent: odd }),
    RangeError,
    "the parser must be one of ThoughtActionParser",
  );
  assertThrows(
    () => new IsolateCodeBlock({ tasks: [], agent, maxRequeries: -1 }),
    RangeError,
    "'maxRequeries' must be",
  );
});

Deno.test("MessageToHistory refuses a lastObservations of 0", () => {
  assertThrows(() => new MessageToHistory({ lastObservations: 0 }), RangeError, "'lastObservations' must be");
});

Deno.test("TaskSampler refuses an empty list of tasks", () => {
  assertThrows(() => new TaskSampler({ tasks: [] }), RangeError, "there must be at least one");
});

Deno.test("TemplateTransform refuses to render text without a tokenizer", () => {
  assertThrows(() => new TemplateTransform({}), TypeError, "Cannot apply chat template without a tokenizer.");
});
