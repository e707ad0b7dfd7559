import type { Command } from "commander";
import config from "../../docs/paddock.schema.json" with { type: "json" };
import exportsOf from "../../deno.json" with { type: "json" };
import { paddockCommand } from "../../src/cli/commands.ts";
import { type Io, withIo } from "../../src/cli/io.ts";
import { served } from "../../tests/server/served.ts";
import { factsPage } from "./facts.ts";
import { fileSchema, type JsonSchema } from "./schemas.ts";

/** Returns the Markdown of the generated pages, by their slugs. */
export async function referencePages(): Promise<Record<string, string>> {
  const [commands, http, facts, profile, ...rows] = await Promise.all([
    commandsPage(),
    httpPage(),
    factsPage(),
    fileSchema("profile"),
    fileSchema("task"),
    fileSchema("episode"),
    fileSchema("training"),
  ]);
  return {
    "reference/commands": commands,
    "reference/http": http,
    "reference/facts": facts,
    "reference/typescript": typescriptPage(),
    "reference/profile": schemaPage("Profile files", PROFILE, [profile]),
    "reference/config": schemaPage("Configuration file", CONFIG, [config]),
    "reference/rows": schemaPage("Rows", ROWS, rows),
  };
}

const PROFILE =
  "The keys of a profile, `sandboxes/*.jsonc`. [Profiles](profiles.html) describes how to write one. " +
  "Every key may be left out; an unknown key is an error.";
const CONFIG = "The keys of `--config paddock.jsonc`, which are options of `serve` and `rollout`. " +
  "[Command line](cli.html#configuration-file) describes the file.";
const ROWS = "Lines of the JSON Lines files that `rollout` reads and writes. [Rollouts](rollouts.html) " +
  "describes how they are made. In rows that are read, further keys of an episode are kept, " +
  "and further keys of a task are an error.";

/** Returns text for Markdown, outside of code. */
function prose(text: string): string {
  return text.replace(/[<>]/g, (char) => `\\${char}`).replaceAll("|", "\\|").replaceAll(/\s*\n\s*/g, " ");
}

function code(text: string): string {
  return `\`${text.replaceAll("|", "\\|").replaceAll("`", "'")}\``;
}

async function commandsPage(): Promise<string> {
  const parts = [
    "# Commands",
    "The help of each command, as `--help` prints it. [Command line](cli.html) is the guide.",
  ];
  const add = async (command: Command, path: readonly string[]) => {
    parts.push(`## ${path.join(" ")}`, "```text\n" + (await helpOf(path.slice(1))).trimEnd() + "\n```");
    for (const subcommand of command.commands) {
      if (subcommand.name() !== "help") await add(subcommand, [...path, subcommand.name()]);
    }
  };
  await add(paddockCommand(), ["paddock"]);
  return parts.join("\n\n");
}

const NARROW = 100;

/** Returns what `--help` of a command prints. */
async function helpOf(path: readonly string[]): Promise<string> {
  const chunks: Uint8Array[] = [];
  const writeSync = (bytes: Uint8Array) => chunks.push(bytes.slice()) && bytes.length;
  const sink = {
    write: (bytes: Uint8Array) => Promise.resolve(writeSync(bytes)),
    writeSync,
    isTerminal: () => false,
  };
  const io: Io = {
    stdin: {
      readable: new ReadableStream({ start: (controller) => controller.close() }),
      isTerminal: () => false,
    },
    stdout: sink,
    stderr: sink,
    env: { get: (name) => name === "COLUMNS" ? String(NARROW) : undefined },
    exitCode: 0,
  };
  const stopped = await withIo(
    io,
    () =>
      paddockCommand().parseAsync([...path, "--help"], { from: "user" }).then(
        () => undefined,
        (error) => error,
      ),
  );
  if (stopped?.exitCode !== 0) {
    throw new Error(`Cannot print the help of '${path.join(" ")}'`, { cause: stopped });
  }
  return new TextDecoder().decode(await new Blob(chunks as Uint8Array<ArrayBuffer>[]).arrayBuffer());
}

function typescriptPage(): string {
  const rows = Object.keys(exportsOf.exports).filter((name) => name !== "./cli").map((name) => {
    const path = name === "." ? "" : name.slice(1);
    const folder = name === "." ? "" : `${name.slice(2)}/`;
    return `| [\`@paddock/paddock${path}\`](api/${folder}index.html) | ${ENTRIES[name] ?? ""} |`;
  });
  return `# TypeScript

The exported names of each entry point, with their doc comments. [Library](library.html) is the guide.

| entry point | content |
| --- | --- |
${rows.join("\n")}

[All names](api/all_symbols.html) lists them in alphabetical order.
`;
}

const ENTRIES: Readonly<Record<string, string>> = {
  ".": "what an episode needs",
  "./chat": "chat templates, tokenizers, loss masks",
  "./client": "`PaddockClient`, the client of a server",
  "./datasets": "tasks from files",
  "./edge": "graders in a server without permissions",
  "./envs": "environments",
  "./mlgym": "MLGym's wrapper of workspaces",
  "./rewards": "graders",
  "./rollout": "episodes, trajectories, training rows",
  "./sandbox": "pools, sessions, profiles, checkpoints",
  "./server": "the server, for use in a program",
  "./tau-bench": "tau-bench's environment",
  "./tools": "tools and parsers of calls",
  "./transforms": "transforms of environments",
};

interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly {
    readonly name?: string;
    readonly in?: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema?: JsonSchema;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: JsonSchema }>> };
  readonly responses: Readonly<Record<string, { readonly description?: string; readonly $ref?: string }>>;
}

interface OpenApi {
  readonly info: { readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses?: Readonly<Record<string, { readonly description?: string }>>;
  };
}

/** Begin of the description of an error. */
const ERROR = /^The error /;

const METHODS = ["get", "post", "put", "patch", "delete"];

async function httpPage(): Promise<string> {
  await using server = served();
  const { body }: { body: OpenApi } = await server.send("GET", "/openapi.json");
  const operations = Object.entries(body.paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method];
      return operation === undefined ? [] : [{ path, method, operation }];
    })
  );
  const parts = [
    "# HTTP",
    `${body.info.description} A running server has the same document at \`/openapi.json\`, and a page that ` +
    "sends requests at `/docs`. [Server](server.html) is the guide.",
  ];
  for (const { name, description } of body.tags) {
    parts.push(`## ${name}`, `${prose(description)}.`);
    for (const { path, method, operation } of operations) {
      if (operation.tags?.[0] === name) {
        parts.push(...describeOperation(path, method, { operation, document: body }));
      }
    }
  }
  return parts.join("\n\n");
}

function describeOperation(
  path: string,
  method: string,
  { operation, document }: { operation: Operation; document: OpenApi },
): string[] {
  const { summary = "", description, parameters = [], requestBody, responses } = operation;
  const parts = [`### ${method.toUpperCase()} ${path}`, `${prose(summary)}.`];
  if (description !== undefined) parts.push(prose(description));
  const named = parameters.filter(({ name }) => name !== undefined);
  if (named.length > 0) {
    const rows = named.map((parameter) =>
      `| ${code(parameter.name ?? "")} | ${parameter.in} | ${typeOf(parameter.schema ?? {}, document)} | ${
        prose(parameter.description ?? parameter.schema?.description ?? "")
      } |`
    );
    parts.push(`| parameter | in | type | meaning |\n| --- | --- | --- | --- |\n${rows.join("\n")}`);
  }
  for (const [type, { schema }] of Object.entries(requestBody?.content ?? {})) {
    const rows = schema === undefined ? [] : schemaRows(schema, { document });
    if (rows.length > 0) parts.push(`Body, ${code(type)}:`, table(rows));
  }
  const results = Object.entries(responses).map(([status, response]) => {
    const shared = document.components.responses?.[response.$ref?.split("/").at(-1) ?? ""];
    return { status, text: prose(response.description ?? shared?.description ?? "") };
  });
  const rows = results.filter(({ text }) => !ERROR.test(text)).map(({ status, text }) =>
    `| ${status} | ${text} |`
  );
  if (rows.length > 0) parts.push(`| status | response |\n| --- | --- |\n${rows.join("\n")}`);
  const errors = results.filter(({ text }) => ERROR.test(text)).map(({ status, text }) =>
    `${status} ${text.replace(ERROR, "")}`
  );
  if (errors.length > 0) parts.push(`Errors: ${errors.join(", ")}.`);
  return parts;
}

function schemaPage(title: string, intro: string, schemas: readonly JsonSchema[]): string {
  const parts = [`# ${title}`, intro];
  for (const schema of schemas) {
    if (schemas.length > 1) parts.push(`## ${schema.title}`);
    parts.push(table(schemaRows(schema)), "The same as JSON Schema:");
    parts.push("```json\n" + JSON.stringify(schema, null, 2) + "\n```");
  }
  return parts.join("\n\n");
}

function table(rows: readonly string[]): string {
  return `| key | type | meaning |\n| --- | --- | --- |\n${rows.join("\n")}`;
}

const MAX_DEPTH = 3;

/** Returns a row for each key of an object, and of the objects in it. */
function schemaRows(
  schema: JsonSchema,
  { document, path = "", depth = 0 }: { document?: OpenApi; path?: string; depth?: number } = {},
): string[] {
  const { properties = {}, required = [] } = resolve(schema, document);
  return Object.entries(properties).flatMap(([key, property]) => {
    const name = path === "" ? key : `${path}.${key}`;
    const notes = [
      ...(required.includes(key) ? ["Required."] : []),
      ...(property.description === undefined ? [] : [sentence(prose(property.description))]),
      ...(property.default === undefined ? [] : [`Default: ${code(JSON.stringify(property.default))}.`]),
    ];
    const row = `| ${code(name)} | ${typeOf(property, document)} | ${notes.join(" ")} |`;
    const resolved = resolve(property, document);
    const inner = resolved.items === undefined ? resolved : resolve(resolved.items, document);
    const list = resolved.items === undefined ? "" : "[]";
    if (depth + 1 >= MAX_DEPTH) return [row];
    return [
      row,
      ...schemaRows(inner, { ...(document && { document }), path: name + list, depth: depth + 1 }),
    ];
  });
}

function sentence(text: string): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.:!?]$/.test(capital) ? capital : `${capital}.`;
}

function resolve(schema: JsonSchema, document?: OpenApi): JsonSchema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : document?.components.schemas[name] ?? schema;
}

function typeOf(schema: JsonSchema, document?: OpenApi): string {
  const { type, enum: values, const: only, anyOf, oneOf, items, minimum, maximum, multipleOf } = resolve(
    schema,
    document,
  );
  if (only !== undefined) return code(JSON.stringify(only));
  if (values !== undefined) return values.map((value) => code(JSON.stringify(value))).join(", ");
  const choices = anyOf ?? oneOf;
  if (choices !== undefined) {
    return [...new Set(choices.map((choice) => typeOf(choice, document)))].join(" or ");
  }
  if (type === "array") return items === undefined ? "array" : `array of ${typeOf(items, document)}`;
  const isSafe = (bound: number | undefined) =>
    bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER;
  const bounds = [
    ...(isSafe(minimum) ? [`from ${minimum}`] : []),
    ...(isSafe(maximum) ? [`to ${maximum}`] : []),
    ...(multipleOf === undefined ? [] : [`a multiple of ${multipleOf}`]),
  ];
  return [[type ?? "any value"].flat().join(" or "), ...bounds].join(" ");
}
