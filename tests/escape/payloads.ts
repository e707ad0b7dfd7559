/** One attack: Python, or JavaScript that Python tries to reach. */
export interface Payload {
  readonly id: string;
  /** The number of its family in the list of attacks. */
  readonly family: number;
  readonly name: string;
  readonly code?: string;
  readonly js?: string;
  /** What may honestly be said of it; JavaScript that is never reached is an `error`. */
  readonly expect?: readonly string[];
  readonly timeoutMs?: number;
  /** A text that the value must hold. */
  readonly value?: string;
  /** The name of a Python file that runs before `code`, in the same block. */
  readonly prelude?: "wasm";
  /** The payload breaks its own Python so far that only a reset brings it back. */
  readonly wrecks?: boolean;
  /** JavaScript that ends its realm or never ends. */
  readonly hangs?: boolean;
  /** JavaScript that changes its realm for what comes after it. */
  readonly last?: boolean;
}

/** What payloads are told of the host that they attack. */
export interface Target {
  readonly canary: string;
  readonly directory: string;
  readonly cacheDir: string;
  readonly environmentName: string;
  readonly port: number;
}

/** Every payload of the list, with the marks in its text filled in. */
export async function readPayloads(target: Target): Promise<Payload[]> {
  const text = await Deno.readTextFile(new URL("payloads.jsonl", import.meta.url));
  const marks: Record<string, string> = {
    CANARY: target.canary,
    DIR: target.directory,
    CWD: Deno.cwd(),
    CACHE: target.cacheDir,
    ENV: target.environmentName,
    PORT: String(target.port),
    HOSTPID: String(Deno.pid),
  };
  const fill = (value: unknown) =>
    typeof value === "string"
      ? value.replace(/\{\{([A-Z]+)\}\}/g, (whole, name) => marks[name] ?? whole)
      : value;
  return text.trim().split("\n").map((line) => JSON.parse(line, (_, value) => fill(value)));
}

/** The Python of a payload, whole. */
export async function pythonOf({ prelude, code }: Payload): Promise<string> {
  return `${prelude ? await readPrelude(prelude) : ""}\n${code ?? ""}`;
}

/** Python that tries to run the JavaScript of every payload by every route there is. */
export async function everyRoute(payloads: readonly Payload[]): Promise<string> {
  const codes = payloads.flatMap(({ js }) => js === undefined ? [] : [`(async () => { ${js} })()`]);
  return `${await readPrelude("routes")}\nrun_js(${JSON.stringify(codes)})`;
}

async function readPrelude(name: string): Promise<string> {
  return await Deno.readTextFile(new URL(`preludes/${name}.py`, import.meta.url));
}
