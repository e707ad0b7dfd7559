import { FakeServer } from "../policy/fake_server.ts";
import { byteTokenizer } from "../byte_tokenizer.ts";

/** One reply that the model server sampled. */
export interface Sampled {
  readonly prompt: readonly number[];
  readonly ids: readonly number[];
  /** Text of the prompt. */
  readonly text: string;
  // deno-lint-ignore no-explicit-any -- the body of the request
  readonly body: any;
}

/** Returns the text of a reply, or a response of its own. */
export type Script = (prompt: string, count: number) => string | Response | Promise<string | Response>;

export const tokenizer = byteTokenizer();
export const END = "<|im_end|>";

/** A call as Qwen writes it. */
export function call(name: string, args: string): string {
  return `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`;
}

/** A server with SGLang's `/generate`, whose replies are scripted. It knows the ids that it sampled. */
export class ScriptedModel implements AsyncDisposable {
  readonly sampled: Sampled[] = [];
  readonly aborted: string[] = [];
  readonly #server: FakeServer;

  constructor(script: Script) {
    this.#server = new FakeServer(async ({ path, body }) => {
      if (path === "/abort_request") {
        this.aborted.push(body.rid);
        return Response.json({});
      }
      const text = tokenizer.decode(body.input_ids);
      const reply = await script(text, this.sampled.length + 1);
      if (typeof reply !== "string") return reply;
      const ids = tokenizer.encode(reply + END);
      this.sampled.push({ prompt: body.input_ids, ids, text, body });
      return Response.json(generated(reply, ids, body.input_ids.length));
    });
  }

  get url(): string {
    return this.#server.url;
  }

  async kill(): Promise<void> {
    await this.#server.kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }
}

/** Returns a response of `/generate`. */
export function generated(
  text: string,
  ids: readonly number[],
  promptTokens: number,
  finish = "stop",
): Readonly<Record<string, unknown>> & { readonly meta_info: object } {
  return {
    text,
    output_ids: ids,
    meta_info: {
      finish_reason: { type: finish },
      prompt_tokens: promptTokens,
      completion_tokens: ids.length,
      output_token_logprobs: ids.map((id) => [-0.25, id, null]),
      weight_version: "w1",
    },
  };
}
