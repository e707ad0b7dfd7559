import * as z from "zod";
import type { Caller } from "./caller.ts";
import { type CallerBeat, callerBeatSchema, type NodeProperties } from "./nodes_bucket.ts";

interface NodeMetric {
  readonly help: string;
  readonly kind: "counter" | "gauge";
  readonly valueOf: (node: NodeProperties) => number;
}

/** Milliseconds without a heartbeat after which a caller is not counted any more. */
const CALLER_LOST_MS = 5_000;
/** Callers that are counted. */
const MAX_CALLERS = 10_000;

const NODE_METRICS: Readonly<Record<string, NodeMetric>> = {
  paddock_cluster_slots: {
    help: "Sessions that a node has room for.",
    kind: "gauge",
    valueOf: ({ slots }) => slots,
  },
  paddock_cluster_free: {
    help: "Slots of a node that wait for work.",
    kind: "gauge",
    valueOf: ({ free }) => free,
  },
  paddock_cluster_sessions: {
    help: "Sessions of a node that callers of the cluster hold.",
    kind: "gauge",
    valueOf: ({ sessions }) => sessions,
  },
  paddock_cluster_draining: {
    help: "1 if a node takes no new sessions.",
    kind: "gauge",
    valueOf: ({ draining }) => Number(draining),
  },
  paddock_cluster_execs_total: {
    help: "Programs and commands that a node has run for the cluster.",
    kind: "counter",
    valueOf: ({ execs }) => execs,
  },
  paddock_cluster_invalid_messages_total: {
    help: "Messages that a node has refused as they were invalid.",
    kind: "counter",
    valueOf: ({ invalid }) => invalid,
  },
};

/** The figures of a whole cluster, which each gateway has: of all nodes, and of the calls that wait for a node. */
export class ClusterMetrics {
  readonly #caller: Caller;
  readonly #callers = new Map<string, { waiting: number; seenAt: number }>();

  constructor(caller: Caller) {
    this.#caller = caller;
    const { peer } = caller;
    peer.receive(peer.subjects.callerBeat(), ({ head, sender }) => {
      const beat = z.safeParse(callerBeatSchema, head);
      if (beat.success && beat.data.id === sender) this.#note(beat.data);
      else peer.invalid++;
    });
  }

  /** Returns the metrics in the text format of Prometheus, version 0.0.4. */
  format(): string {
    const nodes = this.#caller.directory.properties;
    const callers = this.#liveCallers();
    const waiting = callers.reduce((sum, { waiting }) => sum + waiting, 0);
    const ofNodes = Object.entries(NODE_METRICS).map(([name, { help, kind, valueOf }]) =>
      formatMetric(name, { help, kind }, nodes.map((node) => [labelsOf(node), valueOf(node)]))
    );
    const gauge = (name: string, help: string, value: number) =>
      formatMetric(name, { help, kind: "gauge" }, [["", value]]);
    return [
      gauge("paddock_cluster_nodes", "Nodes that are alive.", nodes.length),
      ...ofNodes,
      gauge("paddock_cluster_callers", "Gateways and pools that are connected.", callers.length),
      gauge("paddock_cluster_waiting", "Calls of all callers that wait for a free slot.", waiting),
    ].join("");
  }

  #note({ id, waiting }: CallerBeat): void {
    if (!this.#callers.has(id) && this.#liveCallers().length >= MAX_CALLERS) return;
    this.#callers.set(id, { waiting, seenAt: performance.now() });
  }

  #liveCallers(): { waiting: number }[] {
    const oldest = performance.now() - CALLER_LOST_MS;
    for (const [id, { seenAt }] of this.#callers) {
      if (seenAt < oldest) this.#callers.delete(id);
    }
    return [...this.#callers.values()];
  }
}

function formatMetric(
  name: string,
  { help, kind }: Pick<NodeMetric, "help" | "kind">,
  samples: readonly (readonly [labels: string, value: number])[],
): string {
  const lines = samples.map(([labels, value]) => `${name}${labels} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${lines.join("")}`;
}

function labelsOf({ id, host, profile }: NodeProperties): string {
  const escaped = host.replace(/[\\"\n]/g, (found) => found === "\n" ? "\\n" : `\\${found}`);
  return `{node="${id}",host="${escaped}",profile="${profile.name}"}`;
}
