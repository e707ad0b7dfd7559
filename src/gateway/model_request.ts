import type { Message, ToolSpec } from "../message.ts";

/** Parameters of sampling that an agent may send, and that the owner of a session may set. */
export interface Sampling {
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly minP?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  readonly presencePenalty?: number | undefined;
  readonly seed?: number | undefined;
  /** Maximum number of tokens of a reply. */
  readonly maxTokens?: number | undefined;
  /** Texts that end a reply. */
  readonly stop?: readonly string[] | undefined;
  /** JSON Schema that the reply must match. The model server constrains decoding by the schema. */
  readonly jsonSchema?: Readonly<Record<string, unknown>> | undefined;
  /** Grammar in EBNF that the reply must match. Sampling has it or {@linkcode jsonSchema}. */
  readonly grammar?: string | undefined;
}

/** Which tools the model may or must call. */
export interface ToolChoice {
  /** `none`: a reply is text. `auto`: text or calls. `required`: at least one call. */
  readonly mode: "none" | "auto" | "required";
  /** Names of the tools that may be called. @default all */
  readonly names?: readonly string[] | undefined;
  /** True if a reply has at most a single call. */
  readonly isSingle: boolean;
}

/** One request of an agent, without the form of the dialect. */
export interface ModelRequest {
  /** Name of the model, which the answer repeats. */
  readonly model: string;
  /** The chat: the roles are `system`, `user`, `assistant` and `tool`. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  readonly toolChoice: ToolChoice;
  readonly sampling: Sampling;
  readonly stream: boolean;
  /** True if the agent wants the log-probabilities of the sampled tokens. */
  readonly wantsLogProbs: boolean;
  /** Tools of a vendor that the agent lists. They are not offered to the model. */
  readonly ignoredTools: readonly string[];
  /** Text by which equal requests are recognized: their JSON value without what differs between retries. */
  readonly identity: string;
  /** How the client marks a repeated request, if at all. */
  readonly retry: RetryMarks;
}

/** Marks of a repeated request in its headers. */
export interface RetryMarks {
  readonly idempotencyKey?: string | undefined;
  /** Value of `x-stainless-retry-count`; 0 without the header. */
  readonly count: number;
}

/** A call in an answer. */
export interface AnswerCall {
  readonly id: string;
  readonly name: string;
  /** Arguments as JSON text. */
  readonly arguments: string;
}

/** The answer to a request, without the form of a dialect. */
export interface ModelAnswer {
  /** Unique in the gateway. */
  readonly id: string;
  /** Unix time of the sample, in seconds. */
  readonly created: number;
  readonly text: string;
  /** What the model thought; empty if nothing. */
  readonly thought: string;
  readonly calls: readonly AnswerCall[];
  readonly finish: "stop" | "length" | "calls";
  /** Stop text that ended the reply. */
  readonly stopText?: string | undefined;
  readonly usage: { readonly promptTokens: number; readonly replyTokens: number };
  /** Text, id and log-probability of each sampled token, if the server gives them. */
  readonly logProbs?: readonly TokenLogProb[] | undefined;
}

/** Log-probability of one token. */
export interface TokenLogProb {
  readonly token: string;
  readonly logProb: number;
}
