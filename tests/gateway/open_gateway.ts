import { gatewayApp, type GatewayAppOptions, type GatewayHandler } from "../../src/gateway/app.ts";
import { Gateway } from "../../src/gateway/gateway.ts";
import type { GatewayOptions } from "../../src/gateway/gateway_options.ts";
import { modelSampler } from "../../src/gateway/model/model_sampler.ts";
import type { InteractionResult } from "../../src/rollout/interaction.ts";
import { TokenFormat } from "../../src/rollout/tokens/token_format.ts";
import { qwen25Calls } from "../../src/tools/parsers/qwen25_calls.ts";
import { type Script, ScriptedModel, tokenizer } from "./scripted_model.ts";

export const TOKEN = "owner-token-0123456789";
export const OTHER_TOKEN = "other-token-0123456789";

/** A session as its owner sees it. */
export interface Opened {
  readonly id: string;
  readonly key: string;
  readonly base_urls: { readonly openai: string; readonly anthropic: string };
}

/** A gateway before a scripted model server. */
export class TestGateway implements AsyncDisposable {
  readonly model: ScriptedModel;
  readonly gateway: Gateway;
  readonly fetch: GatewayHandler;
  readonly rows: InteractionResult[] = [];

  constructor(script: Script, options: Partial<GatewayOptions> & Partial<GatewayAppOptions> = {}) {
    this.model = new ScriptedModel(script);
    this.gateway = new Gateway({
      sampler: modelSampler({ api: "sglang", url: this.model.url, model: "tiny" }),
      parser: qwen25Calls(),
      format: new TokenFormat({ tokenizer, family: "qwen" }),
      owners: 2,
      onRows: (rows) => this.rows.push(...rows),
      ...options,
    });
    this.fetch = gatewayApp({ tokens: [TOKEN, OTHER_TOKEN], gateway: this.gateway, ...options });
  }

  /** Sends JSON, as the owner or with the key of a session. */
  async send(
    path: string,
    body?: unknown,
    { key = TOKEN, method, headers = {}, signal }: {
      key?: string;
      method?: string;
      headers?: Record<string, string>;
      signal?: AbortSignal;
    } = {},
  ): Promise<Response> {
    return await this.fetch(
      new Request(`http://localhost${path}`, {
        method: method ?? (body === undefined ? "GET" : "POST"),
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
        ...(signal && { signal }),
      }),
    );
  }

  async open(more: object = {}): Promise<Opened> {
    const response = await this.send("/v1/gateway/sessions", { task: { id: "t" }, ...more });
    return await response.json();
  }

  async rowsOf(id: string): Promise<InteractionResult[]> {
    const text = await (await this.send(`/v1/gateway/sessions/${id}/rows`)).text();
    return text.trim().split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.gateway[Symbol.dispose]();
    await this.model[Symbol.asyncDispose]();
  }
}

/** Returns the events of a stream: the JSON after `data: `. */
// deno-lint-ignore no-explicit-any -- each test knows the events that it reads
export function eventsOf(text: string): any[] {
  return text.split("\n").filter((line) => line.startsWith("data: ") && line !== "data: [DONE]")
    .map((line) => JSON.parse(line.slice("data: ".length)));
}
