import { type Command, Option } from "commander";
import { KEY_FILE, type PeerOptions } from "../../cluster/nats/nats_peer.ts";
import { MIN_KEY_BYTES } from "../../cluster/nats/seal.ts";
import { TOKEN } from "../../cluster/nats/subjects.ts";
import { ensureKeyFile } from "../../sandbox/checkpoint/host_key.ts";
import { UsageError } from "../cli_errors.ts";
import { readInputBytes } from "../input.ts";
import { cacheDirectory } from "../sandbox_options.ts";

/** Options of commands that join a cluster. */
export interface NatsFlags {
  clusterName?: string;
  clusterKeyFile?: string;
  natsCreds?: string;
  natsNkey?: string;
  natsTokenFile?: string;
  natsCa?: string;
  natsCert?: string;
  natsKey?: string;
}

const MAX_CREDENTIALS_BYTES = 64 * 1024;
const MAX_KEY_BYTES = 4096;
const decoder = new TextDecoder();

/** Adds the options of NATS' own credentials, and the name of the cluster. */
export function addNatsOptions(command: Command): Command {
  return command
    .option("--cluster-name <name>", "name of the cluster; others on the same NATS are not seen", "default")
    .option(
      "--cluster-key-file <file>",
      "key of the cluster, of at least 32 bytes, which all members share (default: one in the cache folder of the user)",
    )
    .addOption(
      new Option("--nats-creds <file>", "credentials file of NATS, with a JWT and an NKey")
        .conflicts(["natsNkey", "natsTokenFile"]),
    )
    .addOption(new Option("--nats-nkey <file>", "file with the seed of an NKey").conflicts("natsTokenFile"))
    .option("--nats-token-file <file>", "file with a token of NATS")
    .option("--nats-ca <file>", "certificates of the authorities of a tls:// server, in PEM")
    .option("--nats-cert <file>", "own certificate, in PEM")
    .option("--nats-key <file>", "key of the own certificate, in PEM");
}

/**
 * Returns how a cluster is joined.
 *
 * @throws {UsageError} if the address or the name is wrong, or a file cannot be read.
 */
export async function toPeerOptions(servers: string, flags: NatsFlags): Promise<PeerOptions> {
  const { clusterName: cluster = "default" } = flags;
  if (!TOKEN.test(cluster)) {
    throw new UsageError(
      `Cannot join cluster as its name must have 1 to 64 letters, digits, '_' or '-': current value is '${cluster}'`,
    );
  }
  for (const server of servers.split(",")) requireNatsUrl(server.trim());
  const token = await readCredentials(flags.natsTokenFile);
  const [ca, cert, key] = await Promise.all(
    [flags.natsCa, flags.natsCert, flags.natsKey].map(async (path) => {
      const bytes = await readCredentials(path);
      return bytes && decoder.decode(bytes);
    }),
  );
  return {
    servers,
    cluster,
    key: await readKeyFile(flags.clusterKeyFile, "the cluster") ??
      await ensureKeyFile(cacheDirectory(undefined), KEY_FILE),
    credentials: await readCredentials(flags.natsCreds),
    nkeySeed: trimmed(await readCredentials(flags.natsNkey)),
    token: token && decoder.decode(token).trim(),
    ...((ca ?? cert ?? key) !== undefined && { tls: { ca, cert, key } }),
  };
}

function requireNatsUrl(text: string): void {
  const url = URL.parse(text);
  if (url !== null && ["nats:", "tls:"].includes(url.protocol) && url.hostname !== "") return;
  throw new UsageError(
    `Cannot join cluster as a server of NATS must be a URL such as 'nats://127.0.0.1:4222' or 'tls://nats.example.org': current value is '${
      text.replace(/\/\/[^@]*@/, "//…@")
    }'`,
  );
}

/**
 * Returns the key in a file.
 *
 * @param owner What the key is of, such as `the cluster`.
 * @throws {UsageError} if the file cannot be read, or has fewer than 32 bytes.
 */
export async function readKeyFile(path: string | undefined, owner: string): Promise<Uint8Array | undefined> {
  if (path === undefined) return undefined;
  const key = await readInputBytes(path, path, MAX_KEY_BYTES);
  if (key.length >= MIN_KEY_BYTES) return key;
  throw new UsageError(
    `Cannot use '${path}' as the key of ${owner} as it must have at least ${MIN_KEY_BYTES} bytes: it has ${key.length}. \`openssl rand 32\` prints one`,
  );
}

async function readCredentials(path: string | undefined): Promise<Uint8Array | undefined> {
  return path === undefined ? undefined : await readInputBytes(path, path, MAX_CREDENTIALS_BYTES);
}

function trimmed(bytes: Uint8Array | undefined): Uint8Array | undefined {
  return bytes && new TextEncoder().encode(decoder.decode(bytes).trim());
}
