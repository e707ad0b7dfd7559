import { type EpisodeError, errorMessage, PolicyError, type TokenError } from "../errors.ts";

/** HTTP status of each kind of {@linkcode GatewayError}. Clients repeat 409, 429 and 5xx, and no others. */
const STATUS = {
  invalid: 400,
  context_length: 400,
  rewritten: 400,
  ended: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  too_large: 413,
  busy: 429,
  bad_reply: 502,
  unavailable: 503,
  timeout: 504,
} as const;

/** Why a request of an agent has no answer. */
export type GatewayFault = keyof typeof STATUS;

/** Options of {@linkcode GatewayError}. */
export interface GatewayErrorOptions extends ErrorOptions {
  /** Number of tokens of the prompt, and the most that the model takes, of `context_length`. */
  readonly tokens?: { readonly prompt: number; readonly limit: number } | undefined;
  /** Seconds after which the client may try again. */
  readonly retryAfter?: number | undefined;
}

/** A request of an agent that has no answer. The message is written for the agent. */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  readonly fault: GatewayFault;
  readonly tokens: GatewayErrorOptions["tokens"];
  readonly retryAfter: number | undefined;

  constructor(fault: GatewayFault, message: string, options: GatewayErrorOptions = {}) {
    super(message, options);
    this.fault = fault;
    this.tokens = options.tokens;
    this.retryAfter = options.retryAfter;
  }

  get status(): number {
    return STATUS[this.fault];
  }
}

const FAULTS: Readonly<Record<NonNullable<PolicyError["fault"]>, GatewayFault>> = {
  refused: "invalid",
  unreachable: "unavailable",
  unavailable: "unavailable",
  timeout: "timeout",
  bad_answer: "bad_reply",
  aborted: "unavailable",
  context_overflow: "context_length",
};

/** Converts the error of a model server into one that may be sent to the agent. */
export function toGatewayError(error: EpisodeError): GatewayError {
  const isPolicy = error instanceof PolicyError;
  if (!isPolicy) return new GatewayError("bad_reply", errorMessage(error), { cause: error });
  const { fault = "bad_answer", status, retryAfterMs } = error;
  const retryAfter = retryAfterMs === undefined ? undefined : Math.ceil(retryAfterMs / 1000);
  const options = { cause: error, retryAfter };
  return new GatewayError(status === 429 ? "busy" : FAULTS[fault], errorMessage(error), options);
}

/** Converts an error of the template or the tokenizer, which cannot show the agent's messages. */
export function toPromptError(error: TokenError): GatewayError {
  return new GatewayError("invalid", errorMessage(error), { cause: error });
}
