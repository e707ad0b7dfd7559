import type { Reply } from "../../policy/policy.ts";
import type { Task } from "../../task.ts";
import type { ToolCallParser } from "../../tools/parsers/tool_call_parser.ts";
import type { CallSyntax } from "../grammar/call_syntaxes.ts";
import type { ModelAnswer, ModelRequest, Sampling } from "../model_request.ts";
import type { ModelSampler } from "../model/model_sampler.ts";
import type { PauseGate } from "../model/pause_gate.ts";
import type { SessionTokens } from "./draft_prompt.ts";
import type { TurnFacts } from "./session_row.ts";

/** What happens if an agent changed a message of the assistant. */
export type RewrittenMode = "keep" | "branch" | "refuse";

/** Options of {@linkcode GatewaySession}. */
export interface GatewaySessionOptions extends SessionTokens {
  readonly id: string;
  readonly task: Task;
  /** Number of the session among the sessions of its task. @default 1 */
  readonly sample?: number | undefined;
  readonly sampler: ModelSampler;
  readonly parser: ToolCallParser;
  /** Parameters of sampling that the owner has set. */
  readonly sampling?: Sampling | undefined;
  /** Whose parameters count where the owner and the agent give one. @default "session" */
  readonly samplingFrom?: "session" | "request" | undefined;
  /** @default "branch" */
  readonly rewritten?: RewrittenMode | undefined;
  /** `auto`: the model chooses its tools freely, whatever the agent demands. @default the agent's demand is enforced */
  readonly toolChoice?: "auto" | undefined;
  /** How the model writes calls, by which a grammar enforces a choice of tools. @default such a choice is refused */
  readonly callSyntax?: CallSyntax | undefined;
  /** Number of tokens that the model takes, prompt and reply together. */
  readonly contextTokens?: number | undefined;
  /** Returns the version of the policy. It is recorded with each turn. */
  readonly policyVersion?: (() => number | string | undefined) | undefined;
  /** Holds back samples. @default a gate that is open */
  readonly gate?: PauseGate | undefined;
  /** Called with each turn, before its answer is delivered. */
  readonly onTurn?: ((turn: RecordedTurn) => void) | undefined;
}

/** A turn with all that is needed to record it again. */
export interface RecordedTurn {
  readonly request: ModelRequest;
  readonly reply: Reply;
  readonly answer: ModelAnswer;
  readonly facts: TurnFacts;
}
