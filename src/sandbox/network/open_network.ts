import { join } from "node:path";
import { denoCommand } from "../process/deno_program.ts";
import type { NetworkSettings } from "../profile/network.ts";
import type { Layer } from "../profile/schema.ts";
import type { EgressBroker } from "./egress_broker.ts";
import { SessionNetwork } from "./session_network.ts";

/** Name of the broker's main module in the directory of an image. */
const BROKER = "broker.js";
/** Files that the broker may have open, each of them a connection. */
const OPEN_FILES = 4096;

/** Options of {@linkcode openNetwork}. */
export interface OpenNetworkOptions {
  readonly settings: NetworkSettings;
  readonly broker: EgressBroker;
  /** Directory of the image, which has the broker's modules. */
  readonly directory: string;
  readonly layers: ReadonlySet<Layer>;
}

/** Returns the connections of an interpreter. The broker's process starts with the first one. */
export function openNetwork(
  { settings, broker, directory, layers }: OpenNetworkOptions,
  send: (packet: Uint8Array) => void,
): SessionNetwork {
  const program = () =>
    denoCommand({
      module: join(directory, BROKER),
      permissions: { net: settings.replay === undefined },
      openFiles: OPEN_FILES,
      layers,
    });
  return new SessionNetwork({ settings, send, open: (receiver) => broker.open(receiver, program) });
}
