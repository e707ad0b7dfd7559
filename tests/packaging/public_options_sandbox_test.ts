import { assertEquals } from "@std/assert";
import { loadProfile, SandboxPool } from "../../mod.ts";
import { PaddockClient } from "../../mod/client.ts";
import CONFIG from "../../deno.json" with { type: "json" };

const ROOT = new URL("../../", import.meta.url);
const ENTRIES = Object.values(CONFIG.exports).filter((path) => path !== CONFIG.exports["./cli"]);

/** Objects that are parameters, but no options: what a thing consists of, or data whose further keys have a meaning. */
const NO_OPTIONS: Readonly<Record<string, string>> = {
  ...of("data of a program", "messageText", "toOpenaiTool", "requirePlayable", "workspaceEnvTask"),
  ...of("data of a program", "deriveSeed"),
  ...of("a definition, which may have more than its contract", "tool", "hostTool", "replyGrader"),
  ...of("a definition, which may have more than its contract", "ResetModule", "StateToMessage"),
  ...of("parts that other code makes", "Lease", "RemoteLease", "Sandbox", "Session", "StateDirectory"),
  ...of("parts that other code makes", "ClusterNode", "TauBenchDomain", "TauBenchEnv", "Workspace"),
  ...of("parts that other code makes", "WorkspaceEvaluator", "HttpServer", "ReasoningGym"),
  ...of("options of an error, with those of JavaScript", "PolicyError", "CheckpointError", "GuestFileError"),
  ...of("options of an error, with those of JavaScript", "PoolFullError", "RequestError", "PythonFileError"),
  ...of("options of an error, with those of JavaScript", "StateDirectoryError", "WaitingExecError"),
};

function of(reason: string, ...names: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, reason]));
}

interface Parameter {
  readonly kind: string;
  readonly name?: string;
  readonly left?: Parameter;
  readonly tsType?: { readonly repr?: string; readonly kind?: string };
}

interface Export {
  /** Its name; that of a static method follows its class and a dot. */
  readonly name: string;
  readonly kind: string;
  readonly parameters: readonly Parameter[];
}

type Symbols = readonly { readonly name: string; readonly declarations: readonly unknown[] }[];

/** Returns what the entry points export, by the address of each. */
async function readDoc(): Promise<Record<string, { readonly symbols: Symbols }>> {
  const command = new Deno.Command(Deno.execPath(), { args: ["doc", "--json", ...ENTRIES], cwd: ROOT });
  return JSON.parse(new TextDecoder().decode((await command.output()).stdout)).nodes;
}

interface Declaration {
  readonly kind: string;
  readonly def: {
    readonly params?: readonly Parameter[];
    readonly constructors?: readonly { readonly params: readonly Parameter[] }[];
    readonly methods?: readonly {
      readonly name: string;
      readonly isStatic: boolean;
      readonly accessibility?: string;
      readonly functionDef: { readonly params: readonly Parameter[] };
    }[];
  };
}

/** Returns the functions, classes and static methods among exports, with the parameters of each signature. */
function exportsOf(symbols: Symbols): Export[] {
  return symbols.flatMap(({ name, declarations }) =>
    declarations.flatMap((declaration): Export[] => {
      const { kind, def } = declaration as Declaration;
      if (kind === "function") return [{ name, kind, parameters: def.params ?? [] }];
      if (kind !== "class") return [];
      const { constructors = [], methods = [] } = def;
      const statics = methods.filter((method) => method.isStatic && method.accessibility !== "private");
      return [
        ...constructors.map(({ params }) => ({ name, kind, parameters: params })),
        ...statics.map((method) => ({
          name: `${name}.${method.name}`,
          kind: "static",
          parameters: method.functionDef.params,
        })),
      ];
    })
  );
}

/** True if the last parameter is an object of options. */
function hasOptions({ parameters }: Export): boolean {
  const last = parameters.at(-1);
  const { kind, name, tsType } = last?.left ?? last ?? { kind: "" };
  return name === "options" || kind === "object" || (tsType?.repr ?? "").endsWith("Options") ||
    ["typeLiteral", "intersection"].includes(tsType?.kind ?? "");
}

/** Options without which another error comes first. */
const NEEDED: Readonly<Record<string, object>> = { MCPToolTransform: { servers: {} } };

/** Calls a function, constructor or static method. */
function call(
  { name, kind }: Pick<Export, "name" | "kind">,
  module: Record<string, unknown>,
  args: readonly unknown[],
): unknown {
  const [exported = "", method = ""] = name.split(".");
  type Called = (new (...args: readonly unknown[]) => unknown) & ((...args: readonly unknown[]) => unknown);
  const called = module[exported] as Called;
  if (kind === "class") return new called(...args);
  if (kind !== "static") return called(...args);
  return (called as unknown as Record<string, Called>)[method]?.call(called, ...args);
}

/** Calls a function, constructor or static method with an unknown option, and returns the message of its error. */
async function messageOf(
  { name, kind, parameters }: Export,
  module: Record<string, unknown>,
): Promise<string> {
  const args = [...parameters.slice(1).map(() => undefined), { ...NEEDED[name], notAnOption: true }];
  try {
    const result = await call({ name, kind }, module, args);
    await (result as { next?: () => Promise<unknown> } | undefined)?.next?.();
    return "no error";
  } catch (error) {
    return error instanceof TypeError ? error.message : String(error);
  }
}

Deno.test("each public function, constructor and static method with options refuses an unknown one, and names the nearest", async () => {
  const accepted: string[] = [];
  let checked = 0;
  for (const [path, { symbols }] of Object.entries(await readDoc())) {
    const module = await import(path);
    for (const exported of exportsOf(symbols)) {
      if (!hasOptions(exported) || Object.hasOwn(NO_OPTIONS, exported.name)) continue;
      checked++;
      const message = await messageOf(exported, module);
      const isRefused = /: found \[notAnOption\]; the nearest to 'notAnOption' is '\w+'$/.test(message);
      if (!isRefused) accepted.push(`${path} ${exported.name}: ${message}`);
    }
  }
  assertEquals(accepted, []);
  assertEquals(checked > 80, true, `${checked} were checked`);
});

/** Calls of methods with an option that no other name is near to, by their names. */
type Calls = Readonly<Record<string, () => unknown>>;

/** Returns the calls that do not reject with a TypeError that names the option. */
async function acceptedOf(calls: Calls): Promise<string[]> {
  const accepted: string[] = [];
  for (const [name, call] of Object.entries(calls)) {
    try {
      await call();
      accepted.push(name);
    } catch (error) {
      if (!(error instanceof TypeError && error.message.includes("found [seeed]"))) {
        accepted.push(`${name}: ${error}`);
      }
    }
  }
  return accepted;
}

Deno.test("methods of sessions, pools and clients refuse unknown options", async () => {
  const wrong = { seeed: 1 } as object;
  await using pool = new SandboxPool({ profile: await loadProfile("workspace"), size: 1 });
  await using lease = await pool.acquire();
  const { session } = lease;
  const kept = await session.checkpoint({ memory: false });
  assertEquals(
    await acceptedOf({
      acquire: () => pool.acquire(wrong),
      readCheckpoint: async () => pool.readCheckpoint(await kept.toBytes(), wrong),
      exec: () => session.exec("1", wrong),
      resume: () => session.resume({ value: 1 }, wrong),
      shell: () => session.shell("ls", wrong),
      reset: () => session.reset(wrong),
      checkpoint: () => session.checkpoint(wrong),
      restore: () => session.restore(kept, wrong),
      fork: () => session.fork(1, wrong),
    }),
    [],
  );
  const fetch = () => Promise.reject(new Error("a request was sent"));
  await using client = new PaddockClient({ url: "http://localhost", fetch, retries: 0 });
  const remote = client.attach("id").session;
  assertEquals(
    await acceptedOf({
      "client.acquire": () => client.acquire(wrong),
      "client.exec": () => client.exec("1", wrong),
      "client.execBatch": () => client.execBatch([{ code: "1", ...wrong }]),
      "client.listSessions": () => client.listSessions(wrong),
      "client.rollout": () => client.rollout({ policy: "p", tasks: [], ...wrong }),
      "remote.exec": () => remote.exec("1", wrong),
      "remote.resume": () => remote.resume({ value: 1 }, wrong),
      "remote.shell": () => remote.shell("ls", wrong),
      "remote.reset": () => remote.reset(wrong),
      "remote.checkpoint": () => remote.checkpoint(wrong),
      "remote.restore": () => remote.restore(kept, wrong),
      "remote.fork": () => remote.fork(1, wrong),
    }),
    [],
  );
});
