import type { InteractionResult } from "../rollout/interaction.ts";
import type { Metrics } from "../server/metrics.ts";
import type { Sampling } from "./model_request.ts";
import type { SandboxSource } from "./session_sandboxes.ts";
import type { SessionGradingOptions } from "./session_grading.ts";
import type { GatewaySessionOptions } from "./session/session_options.ts";
import type { JournalFolder } from "./state/session_journal.ts";

/** Options of {@linkcode Gateway}. */
export interface GatewayOptions extends
  SessionGradingOptions,
  Pick<
    GatewaySessionOptions,
    "sampler" | "parser" | "callSyntax" | "format" | "mode" | "rewritten" | "contextTokens"
  > {
  /** Parameters of sampling of all sessions. Parameters of a session replace them one by one. */
  sampling?: Sampling | undefined;
  /** Milliseconds without a request after which a session ends. @default 1_800_000 */
  idleMs?: number | undefined;
  /** Memory of sessions in bytes. Half of it is divided among the owners and reserved. @default 1 GiB */
  bytes?: number | undefined;
  /** Number of owners. @default 1 */
  owners?: number | undefined;
  /** Sandboxes that sessions may have, and the name of their profile. @default sessions have none */
  sandboxes?: SandboxSource | undefined;
  /** Figures that `/metrics` shows. @default figures of the gateway alone */
  metrics?: Metrics | undefined;
  /** Called with failures that no request gets. */
  onError?: ((error: unknown) => void) | undefined;
  /** Journals by which sessions continue after a restart. The caller disposes the folder. @default none */
  journals?: JournalFolder | undefined;
  /** Called with the rows of each session that ends. */
  onRows?: ((rows: readonly InteractionResult[], owner: string) => void) | undefined;
}
