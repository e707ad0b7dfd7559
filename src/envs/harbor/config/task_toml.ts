import { parse } from "smol-toml";
import * as z from "zod";
import { errorMessage } from "../../../errors.ts";

const user = z.union([z.string(), z.number()]).nullish();
const variables = z.record(z.string(), z.string()).default({});
const seconds = z.number().nonnegative();

const network = {
  network_mode: z.enum(["public", "no-network", "allowlist"]).nullish(),
  allowed_hosts: z.array(z.string()).nullish(),
};

const environmentSchema = z.looseObject({
  ...network,
  docker_image: z.string().nullish(),
  os: z.string().default("linux"),
  memory_mb: z.number().nullish(),
  memory: z.string().nullish(),
  gpus: z.number().nullish(),
  tpu: z.unknown().optional(),
  mcp_servers: z.array(z.unknown()).default([]),
  env: variables,
  healthcheck: z.unknown().optional(),
  workdir: z.string().nullish(),
  allow_internet: z.boolean().nullish(),
});

const artifactSchema = z.union([
  z.string().transform((source) => ({ source, exclude: [], service: undefined })),
  z.looseObject({
    source: z.string(),
    exclude: z.array(z.string()).default([]),
    service: z.string().nullish(),
  }),
]);

const taskSchema = z.looseObject({
  verifier: z.looseObject({
    ...network,
    timeout_sec: seconds.default(600),
    env: variables,
    user,
    environment_mode: z.enum(["shared", "separate"]).nullish(),
    environment: environmentSchema.nullish(),
    collect: z.array(z.unknown()).default([]),
  }).prefault({}),
  agent: z.looseObject({ ...network, timeout_sec: seconds.nullish(), user }).prefault({}),
  environment: environmentSchema.prefault({}),
  solution: z.looseObject({ env: variables }).prefault({}),
  steps: z.array(z.unknown()).nullish(),
  artifacts: z.array(artifactSchema).default([]),
});

/** Settings of a task: the file `task.toml` with Harbor's defaults. */
export type TaskSettings = z.output<typeof taskSchema>;

/** Settings of an environment, for the agent or for the verifier. */
export type EnvironmentSettings = z.output<typeof environmentSchema>;

/** Settings of an environment that a task does not describe. */
export const DEFAULT_ENVIRONMENT: EnvironmentSettings = environmentSchema.parse({});

/** Keys that Harbor reads, by table. Harbor ignores other keys without a word. */
const KNOWN_KEYS: Readonly<Record<string, readonly string[]>> = {
  "": [
    ...["schema_version", "version", "task", "metadata", "verifier", "agent", "environment", "solution"],
    ...["source", "multi_step_reward_strategy", "steps", "artifacts"],
  ],
  verifier: [
    ...["timeout_sec", "env", "user", "environment_mode", "environment", "collect"],
    ...["network_mode", "allowed_hosts"],
  ],
  agent: ["timeout_sec", "user", "network_mode", "allowed_hosts"],
  environment: [
    ...["build_timeout_sec", "docker_image", "os", "cpus", "memory_mb", "memory", "storage_mb", "storage"],
    ...["gpus", "gpu_types", "tpu", "mcp_servers", "env", "skills_dir", "healthcheck", "workdir"],
    ...["allow_internet", "network_mode", "allowed_hosts"],
  ],
  solution: ["env"],
};

/**
 * Parses a file `task.toml`.
 *
 * @throws {SyntaxError} if the text is no TOML, or a key that Paddock reads has another type.
 */
export function parseTaskSettings(text: string): TaskSettings {
  let value: unknown;
  try {
    value = parse(text);
  } catch (cause) {
    throw new SyntaxError(`task.toml is no TOML: ${errorMessage(cause).split("\n")[0]}`, { cause });
  }
  const parsed = z.safeParse(taskSchema, value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = issue?.path.map(String).join(".") ?? "";
  throw new SyntaxError(`'${path}' of task.toml is wrong: ${issue?.message ?? "it has another shape"}`);
}

/** Returns what of the settings the sandbox cannot do, one phrase each. */
export function faultsOfSettings(settings: TaskSettings): string[] {
  const { verifier, agent, environment, steps, artifacts } = settings;
  const variables = [environment.env, verifier.env, settings.solution.env];
  return [
    ...(steps ? ["the task has steps"] : []),
    ...(verifier.collect.length > 0 ? ["the verifier has collect hooks"] : []),
    ...[agent.user, verifier.user].filter((name) => !isRoot(name)).map((name) =>
      `the user '${name}' is not root`
    ),
    ...faultsOfEnvironment(environment),
    ...(verifier.environment ? faultsOfEnvironment(verifier.environment) : []),
    ...[environment, agent, verifier].flatMap((phase) =>
      phase.network_mode === "allowlist"
        ? [`the task needs the hosts ${phase.allowed_hosts?.join(", ")}`]
        : []
    ),
    ...artifacts.flatMap(({ source, service, exclude }) => [
      ...(service && service !== "main" ? [`an artifact is of the service '${service}'`] : []),
      ...(exclude.length > 0 ? [`the artifact '${source}' has patterns to exclude`] : []),
    ]),
    ...variables.flatMap((values) => Object.values(values).flatMap(hostVariables)),
  ];
}

function isRoot(name: string | number | null | undefined): boolean {
  return name === undefined || name === null || name === "root" || name === 0 || name === "0";
}

function faultsOfEnvironment({ os, gpus, tpu, mcp_servers, healthcheck }: EnvironmentSettings): string[] {
  return [
    ...(os === "linux" ? [] : [`the task is for ${os}`]),
    ...(gpus ? ["the task needs a GPU"] : []),
    ...(tpu ? ["the task needs a TPU"] : []),
    ...(mcp_servers.length > 0 ? ["the task has MCP servers"] : []),
    ...(healthcheck ? ["a health check needs a daemon"] : []),
  ];
}

/** Returns a fault for each variable of the host that a value names without a default. */
function hostVariables(value: string): string[] {
  return [...value.matchAll(/\$\{(\w+)\}/g)].map(([, name]) =>
    `the variable '${name}' of your machine is not passed on`
  );
}

/** Replaces `${NAME:-default}` by the default, as no variable of the host is passed on. */
export function withDefaults(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, value.replaceAll(/\$\{\w+:-([^}]*)\}/g, "$1")]),
  );
}

/** Returns what differs here without a fault, one phrase each. */
export function notesOfSettings({ environment, agent, verifier, ...settings }: TaskSettings): string[] {
  const tables: Record<string, object> = {
    "": settings,
    environment,
    agent,
    verifier,
    solution: settings.solution,
  };
  const unknown = Object.entries(tables).flatMap(([table, values]) =>
    Object.keys(values).filter((key) => !KNOWN_KEYS[table]?.includes(key))
      .map((key) => `'${table === "" ? key : `${table}.${key}`}' is unknown to Harbor`)
  );
  const isPublic = (environment.network_mode ?? "public") === "public" &&
    environment.allow_internet !== false;
  return [...(isPublic ? ["the sandbox has no network"] : []), ...unknown];
}

/** Returns the memory of an environment in bytes, if the settings name the memory. */
export function memoryBytesOf({ memory_mb, memory }: EnvironmentSettings): number | undefined {
  if (typeof memory_mb === "number" && memory_mb > 0) return memory_mb * 1024 * 1024;
  const [, amount, unit = "M"] = /^(\d+)([KMG])$/i.exec(memory ?? "") ?? [];
  const exponent = "KMG".indexOf(unit.toUpperCase()) + 1;
  return amount === undefined ? undefined : Number(amount) * 1024 ** exponent;
}
