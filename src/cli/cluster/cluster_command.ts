import { Command } from "commander";
import { abortable } from "../../async/abort.ts";
import { Caller } from "../../cluster/caller.ts";
import type { NodeProperties } from "../../cluster/nodes_bucket.ts";
import { UsageError } from "../cli_errors.ts";
import { EXIT, runCommand } from "../run_command.ts";
import { currentIo } from "../io.ts";
import { writeText } from "../output.ts";
import { flagsOf } from "../sandbox_options.ts";
import { addNatsOptions, type NatsFlags, toPeerOptions } from "./nats_options.ts";

interface ClusterFlags extends NatsFlags {
  nats: string;
  json?: true;
}

const NOTES = `
Examples:
  paddock serve --nats nats://127.0.0.1:4222              a node, one for each machine
  paddock serve --cluster nats://127.0.0.1:4222           a gateway: the server of the whole cluster
  paddock cluster                                         its nodes
  paddock cluster drain dq3kzmc04v                        let a node take no more sessions

Exit codes: 0 ok, 2 wrong usage, such as an unknown node, 125 NATS cannot be reached.`;

/** Returns the command `cluster`, which shows the nodes of a cluster and drains a node. */
export function clusterCommand(): Command {
  const command = withNats(new Command("cluster"))
    .description("Show the nodes of a cluster, their load and their sessions, and drain one")
    .option("--json", "print a line of JSON for each node")
    .addHelpText("after", NOTES)
    .action((_: object, self: Command) => runCommand((signal) => runShow(flagsOf(self), signal)));
  command.addCommand(
    new Command("drain").description(
      "let a node take no more sessions; those with checkpoints move to others",
    )
      .argument("<node>", "id of the node")
      .action((node: string, _: object, self: Command) =>
        runCommand((signal) => runDrain(node, flagsOf(self), signal))
      ),
  );
  return command;
}

function withNats(command: Command): Command {
  return addNatsOptions(
    command.option("--nats <url>", "address of NATS", "nats://127.0.0.1:4222"),
  );
}

async function runShow(flags: ClusterFlags, signal: AbortSignal): Promise<number> {
  await using caller = await connect(flags, signal);
  const nodes = await readNodes(caller);
  const text = flags.json ? nodes.map((node) => `${JSON.stringify(node)}\n`).join("") : formatNodes(nodes, {
    cluster: flags.clusterName ?? "default",
    keyAdvice: caller.peer.keyAdvice,
    nowMs: Date.now(),
  });
  await writeText(currentIo().stdout, text);
  return EXIT.ok;
}

async function runDrain(node: string, flags: ClusterFlags, signal: AbortSignal): Promise<number> {
  await using caller = await connect(flags, signal);
  if (caller.directory.find(node) === undefined) {
    const ids = (await readNodes(caller)).map(({ id }) => id);
    throw new UsageError(
      `Cannot drain node '${node}' as it must be one of the cluster's: ${ids.join(", ") || "it has none"}`,
    );
  }
  await caller.callNode(node, { op: "drain", owner: "" }, { signal });
  await writeText(currentIo().stderr, `Node ${node} takes no more sessions\n`);
  return EXIT.ok;
}

async function connect(flags: ClusterFlags, signal: AbortSignal): Promise<Caller> {
  return await abortable(Caller.connect(await toPeerOptions(flags.nats, flags), "paddock cluster"), signal);
}

async function readNodes({ directory }: Caller): Promise<NodeProperties[]> {
  await Promise.all(directory.nodes.map(({ beat }) => directory.readProperties(beat.id)));
  return directory.properties.sort((one, other) => one.startedAt - other.startedAt);
}

/** Returns the nodes of a cluster as a table. */
export function formatNodes(
  nodes: readonly NodeProperties[],
  { cluster, keyAdvice = "", nowMs }: { cluster: string; keyAdvice?: string; nowMs: number },
): string {
  if (nodes.length === 0) {
    return `Cluster '${cluster}' has no nodes: start one with 'paddock serve --nats URL'${keyAdvice}\n`;
  }
  const rows = nodes.map((node) => [
    node.id,
    node.host,
    node.profile.name,
    `${node.slots}`,
    `${node.free}`,
    `${node.sessions}`,
    `${node.execs}`,
    node.draining ? "draining" : "ready",
    formatAge(nowMs - node.startedAt),
    node.version,
  ]);
  const table = [
    ["NODE", "HOST", "PROFILE", "SLOTS", "FREE", "SESSIONS", "EXECS", "STATE", "AGE", "VERSION"],
    ...rows,
  ];
  const widths = (table[0] ?? []).map((_, at) => Math.max(...table.map((row) => row[at]?.length ?? 0)));
  const lines = table.map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ").trimEnd());
  const sum = (key: "slots" | "free" | "sessions") => nodes.reduce((total, node) => total + node[key], 0);
  const total = `${nodes.length} node${nodes.length === 1 ? "" : "s"}, ${sum("slots")} slots, ` +
    `${sum("free")} free, ${sum("sessions")} sessions of the cluster`;
  return `${lines.join("\n")}\n${total}\n`;
}

function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)}m` : `${Math.round(seconds / 3_600)}h`;
}
