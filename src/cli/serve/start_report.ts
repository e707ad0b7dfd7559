import type { Profile } from "../../sandbox/profile/profile.ts";
import type { LayerState } from "../../sandbox/process/layers.ts";
import { DENO_VERSION, PADDOCK_VERSION } from "../../version.ts";

/** Lines that a server prints at the start. */
export interface StartReport {
  readonly profile: Profile;
  readonly layers: readonly LayerState[];
  readonly maxSessions: number;
  readonly queue: number;
  readonly maxConnections: number;
  /** Number of tokens. */
  readonly tokens: number;
  readonly resetMode: "owner" | "rewind";
  /** Seconds of idle time after which a session hibernates; absent if sessions keep their interpreters. */
  readonly hibernateAfter?: number | undefined;
  readonly stateDir?: string | undefined;
  readonly runs?: string | undefined;
  /** Address of the server, such as `http://127.0.0.1:8471`. */
  readonly url: string;
}

const MIB = 1024 * 1024;

/** Returns the lines that a server prints at the start: version, profile, limits, layers and addresses. */
export function formatStartReport(report: StartReport): string {
  const { profile, layers, url } = report;
  const { limits: { timeoutMs, memoryBytes, outputBytes }, timeScale } = profile;
  const working = layers.filter(({ works, mode }) => works && mode !== "off").map(({ layer }) => layer);
  const lines: readonly (readonly [label: string, text: string])[] = [
    ["version", `Paddock ${PADDOCK_VERSION}, Deno ${DENO_VERSION}`],
    [
      "profile",
      `${profile.name}: ${timeoutMs / 1000} s${timeScale === undefined ? "" : ` times ${timeScale}`}, ${
        memoryBytes / MIB
      } MiB of memory and ${outputBytes / MIB} MiB of output for each program`,
    ],
    ["limits", limitsOf(report)],
    ["layers", working.length === 0 ? "none" : working.join(", ")],
    ["addresses", addressesOf(report, url)],
  ];
  return lines.map(([label, text]) => `${label.padEnd(10)} ${text}\n`).join("");
}

function limitsOf({ maxSessions, queue, maxConnections, tokens, resetMode, ...rest }: StartReport): string {
  const { hibernateAfter, stateDir } = rest;
  return [
    `${maxSessions} sessions (${resetMode === "owner" ? "each token has its own interpreters" : "rewound"})`,
    `${queue} requests in the queue`,
    `${maxConnections} connections`,
    tokens === 0 ? "no tokens" : tokens === 1 ? "1 token" : `${tokens} tokens`,
    hibernateAfter === undefined ? "no hibernation" : `hibernation after ${hibernateAfter} s`,
    ...(stateDir === undefined ? [] : [`state in ${stateDir}`]),
  ].join(", ");
}

function addressesOf({ runs }: StartReport, url: string): string {
  const paths = ["/docs", "/v1", "/mcp", "/metrics", ...(runs === undefined ? [] : ["/runs"])];
  return paths.map((path) => `${url}${path}`).join(" ");
}
