import type { Metrics } from "../server/metrics.ts";
import type { RecordedTurn } from "./session/session_options.ts";

/** Figures of an owner, or of all owners. */
export interface GatewayStats {
  readonly open: number;
  readonly ended: number;
  readonly turns: number;
  readonly rows: number;
  readonly bytes: number;
}

/** Adds the figures of a gateway that are read at each scrape. */
export function addGauges(metrics: Metrics, gateway: { stats(owner?: string): GatewayStats }): void {
  const add = (name: string, help: string, field: keyof GatewayStats) =>
    metrics.addGauge(`paddock_gateway_${name}`, help, (owner) => gateway.stats(owner)[field]);
  add("open_sessions", "Sessions of agents that have not ended.", "open");
  add("ended_sessions", "Sessions of agents that have ended, and whose rows can be read.", "ended");
  add("session_bytes", "Memory of the sessions of agents.", "bytes");
}

/** Counts a turn that a model server has sampled. */
export function countTurn(metrics: Metrics, owner: string, { answer: { usage }, facts }: RecordedTurn): void {
  metrics.count("paddock_gateway_turns_total", 1, { owner, help: "Turns of agents." });
  metrics.count("paddock_gateway_prompt_tokens_total", usage.promptTokens, {
    owner,
    help: "Tokens of the prompts of agents.",
  });
  metrics.count("paddock_gateway_sampled_tokens_total", usage.replyTokens, {
    owner,
    help: "Tokens that the model server has sampled for agents.",
  });
  metrics.count("paddock_gateway_sample_seconds_total", facts.policyMs / 1000, {
    owner,
    help: "Time that the turns of agents have waited for the model server.",
  });
}
