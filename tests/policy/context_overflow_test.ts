import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { PolicyError } from "../../src/errors.ts";
import { History } from "../../src/history.ts";
import { isContextOverflow } from "../../src/policy/context_overflow.ts";
import { openaiPolicy } from "../../src/policy/openai.ts";
import { sglangPolicy } from "../../src/policy/sglang.ts";
import OVERFLOWS from "./context_overflows.json" with { type: "json" };
import { FakeServer } from "./fake_server.ts";

const QUESTION = History.fromChats([{ role: "user", content: "q" }]);
const CONTEXT = { task: { id: "t", query: "q" }, text: "q" };

for (const { server, status, body } of OVERFLOWS) {
  Deno.test(`openaiPolicy() tells a prompt beyond the context from other refusals: ${server}`, async () => {
    const response = () =>
      typeof body === "string" ? new Response(body, { status }) : Response.json(body, { status });
    await using fake = new FakeServer(response);
    const policy = openaiPolicy({ url: fake.url, model: "m", backoffMs: 0 });
    const error = await assertRejects(async () => await policy.reply(QUESTION, CONTEXT), PolicyError);
    assertEquals([error.fault, fake.seen.length], ["context_overflow", 1], "it is not sent again");
  });
}

Deno.test("openaiPolicy() does not take other errors for a prompt beyond the context", async () => {
  const others: [number, unknown, string][] = [
    [400, {
      error: { message: "max_tokens=8192cannot be greater than max_model_len=4096", param: "max_tokens" },
    }, "refused"],
    [400, {
      error: {
        message:
          "max_tokens is too large: 8192. This model's maximum context length is 4096 tokens and your " +
          "request has 12 input tokens (8192 > 4096 - 12).",
        type: "BadRequestError",
        param: null,
        code: 400,
      },
    }, "refused"],
    [400, {
      object: "error",
      message:
        "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is " +
        "4096 tokens and your request has 12 input tokens (4096 > 4096 - 12).",
      code: 400,
    }, "refused"],
    [400, { error: { message: "max_completion_tokens is too large", code: null } }, "refused"],
    [400, {
      error: {
        message: "Invalid 'n': must be 1 for models whose maximum context length is 1 M tokens.",
        type: "invalid_request_error",
        code: "invalid_value",
      },
    }, "refused"],
    [500, { error: { message: "maximum context length unknown", code: "model_not_loaded" } }, "unavailable"],
    [
      200,
      { error: { message: "maximum context length: upgrade your plan", code: "quota.exceeded" } },
      "bad_answer",
    ],
    [401, { error: { message: "maximum context length", code: "context_length_exceeded" } }, "refused"],
    [404, { error: { message: "The model `qwen` does not exist." } }, "refused"],
    [400, { error: { message: "temperature must be non-negative", param: "temperature" } }, "refused"],
    [422, { detail: [{ loc: ["body", "messages"], msg: "Field required" }] }, "refused"],
    [429, { error: { message: "Rate limit reached: tokens per minute" } }, "unavailable"],
    [500, { error: { message: "CUDA out of memory" } }, "unavailable"],
    [200, { error: { message: "Provider returned error", code: 502 } }, "unavailable"],
    [200, { error: { message: "no credits left", code: 402 } }, "refused"],
    [200, { error: "something went wrong" }, "bad_answer"],
    [200, { object: "error", message: "model went away", code: 400 }, "refused"],
    [200, { object: "error", message: "the engine restarts", code: 503 }, "unavailable"],
    [200, { detail: "no such model" }, "bad_answer"],
  ];
  for (const [status, body, fault] of others) {
    await using fake = new FakeServer(() => Response.json(body, { status }));
    const policy = openaiPolicy({ url: fake.url, model: "m", retries: 1, backoffMs: 0 });
    const error = await assertRejects(async () => await policy.reply(QUESTION, CONTEXT), PolicyError);
    assertEquals(
      [error.fault, fake.seen.length],
      [fault, fault === "unavailable" ? 2 : 1],
      JSON.stringify(body),
    );
    const { detail, message = detail } = Object(body);
    if (typeof message === "string") assertStringIncludes(error.message, message);
  }
});

Deno.test("sglangPolicy() tells a reply that the scheduler aborts for its length from other aborts", async () => {
  const replyTo = async (message: string) => {
    const finish_reason = { type: "abort", message, status_code: 400, err_type: "BadRequestError" };
    await using fake = new FakeServer(() =>
      Response.json({
        text: "",
        output_ids: [],
        meta_info: { finish_reason, prompt_tokens: 9001, completion_tokens: 0 },
      })
    );
    return await sglangPolicy({ url: fake.url }).reply(QUESTION, CONTEXT);
  };
  const tooLong =
    "Input length (9001 tokens) exceeds the maximum allowed length (8186 tokens). Use a shorter input.";
  const error = await assertRejects(() => replyTo(tooLong), PolicyError);
  assertEquals(error.fault, "context_overflow");
  assertStringIncludes(error.message, "9001 tokens");
  const other = await replyTo("the weights are being updated");
  assertEquals(typeof other === "string" ? other : other.finishReason, "abort");
});

Deno.test("isContextOverflow() accepts any body", () => {
  for (
    const body of [null, undefined, 3, [], {}, { error: null }, { error: [] }, { error: { message: {} } }, ""]
  ) {
    assertEquals(isContextOverflow({ status: 400, body }), false);
  }
});
