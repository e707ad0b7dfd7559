/** One attack: Python, or JavaScript that Python tries to reach. */
export interface Payload {
  readonly id: string;
  /** Number of its family in the list of attacks. */
  readonly family: number;
  readonly name: string;
  readonly code?: string;
  readonly js?: string;
  /** Expected statuses. JavaScript that is never reached is an `error`. */
  readonly expect?: readonly string[];
  readonly timeoutMs?: number;
  /** Text that the value must contain. */
  readonly value?: string;
  /** Name of a Python file that runs before `code`, in the same block. */
  readonly prelude?: "wasm";
  /** True if the payload damages its own Python so that only a reset repairs it. */
  readonly wrecks?: boolean;
  /** True if the JavaScript ends its realm or never ends. */
  readonly hangs?: boolean;
  /** True if the JavaScript changes its realm for later payloads. */
  readonly last?: boolean;
}

/** Values about the host that are filled in to payloads. */
export interface Target {
  readonly canary: string;
  readonly directory: string;
  readonly cacheDir: string;
  readonly environmentName: string;
  readonly port: number;
}

/** Returns every payload of the list, with its placeholders filled in. */
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

/** Returns the complete Python of a payload. */
export async function pythonOf({ prelude, code }: Payload): Promise<string> {
  return `${prelude ? await readPrelude(prelude) : ""}\n${code ?? ""}`;
}

/** Returns Python that tries to run the JavaScript of every payload by every known route. */
export async function everyRoute(payloads: readonly Payload[]): Promise<string> {
  const codes = payloads.flatMap(({ js }) => js === undefined ? [] : [`(async () => { ${js} })()`]);
  return `${await readPrelude("routes")}\nrun_js(${JSON.stringify(codes)})`;
}

async function readPrelude(name: string): Promise<string> {
  return await Deno.readTextFile(new URL(`preludes/${name}.py`, import.meta.url));
}
