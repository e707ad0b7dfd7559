import * as z from "zod";
import { join } from "node:path";
import { ROOT, run } from "../../packaging/sources.ts";
import { taskRowSchema } from "../../src/datasets/row_shapes.ts";
import { interactionSchema } from "../../src/rollout/interaction_result.ts";
import { trajectorySchema } from "../../src/rollout/trajectory_schema.ts";
import { profileSchema } from "../../src/sandbox/profile/schema.ts";

/** The parts of a JSON Schema that the pages show. */
export interface JsonSchema {
  readonly $schema?: string;
  title?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  description?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly multipleOf?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly $ref?: string;
  readonly format?: string;
}

/** Where the fields of a schema are described: an interface, or one for the fields of a field. */
interface Described {
  readonly file: string;
  readonly name: string;
  /** Field of the schema whose fields the interface describes. */
  readonly at?: string;
}

interface Source {
  readonly title: string;
  readonly schema: z.core.$ZodType;
  readonly described: readonly Described[];
}

const INTERACTION = "src/rollout/interaction.ts";
const PROFILE = "src/sandbox/profile/schema.ts";

const SOURCES: Readonly<Record<string, Source>> = {
  profile: {
    title: "Profile of a sandbox",
    schema: profileSchema,
    described: [
      { file: PROFILE, name: "ProfileSettings" },
      { file: PROFILE, name: "Limits", at: "limits" },
    ],
  },
  task: {
    title: "Row of a file of tasks",
    schema: taskRowSchema,
    described: [{ file: "src/task.ts", name: "Task" }],
  },
  episode: {
    title: "Row of --out: an episode",
    schema: trajectorySchema,
    described: [
      { file: "src/rollout/trajectory.ts", name: "Trajectory" },
      { file: "src/task.ts", name: "Task", at: "task" },
    ],
  },
  training: {
    title: "Row of --train-out: an episode for a trainer",
    schema: interactionSchema,
    described: [
      { file: INTERACTION, name: "InteractionResult" },
      { file: INTERACTION, name: "InteractionTurn", at: "turns" },
    ],
  },
};

/** Returns the JSON Schema of the files of a kind. Descriptions are the doc comments of the types. */
export async function fileSchema(kind: keyof typeof SOURCES): Promise<JsonSchema> {
  const source = SOURCES[kind];
  if (source === undefined) throw new TypeError(`Cannot make the schema of '${kind}': no such kind`);
  const schema = z.toJSONSchema(source.schema, { io: "input", unrepresentable: "any" }) as JsonSchema;
  schema.title = source.title;
  for (const { file, name, at } of source.described) {
    const comments = await readComments(file, name);
    const part = at === undefined ? schema : schema.properties?.[at];
    const properties = part?.properties ?? part?.items?.properties ?? {};
    for (const [key, property] of Object.entries(properties)) {
      const comment = comments.get(key);
      if (comment !== undefined) property.description ??= comment;
    }
  }
  return schema;
}

interface DocSymbol {
  readonly name: string;
  readonly declarations: readonly {
    readonly def?: {
      readonly properties?: readonly { readonly name: string; readonly jsDoc?: { readonly doc?: string } }[];
    };
  }[];
}

/** Returns the doc comments of an interface by its properties, on one line each. */
async function readComments(file: string, name: string): Promise<Map<string, string>> {
  const json = await run(Deno.execPath(), ["doc", "--json", join(ROOT, file)], { cwd: ROOT });
  const { nodes }: { nodes: Record<string, { symbols: readonly DocSymbol[] }> } = JSON.parse(json);
  const symbol = Object.values(nodes).flatMap(({ symbols }) => symbols).find((found) => found.name === name);
  if (symbol === undefined) {
    throw new Error(`Cannot describe the fields of '${name}' in ${file}: no such type`);
  }
  const properties = symbol.declarations.flatMap(({ def }) => def?.properties ?? []);
  return new Map(
    properties.flatMap(({ name: key, jsDoc }) => {
      const text = jsDoc?.doc?.replaceAll(/\{@link(?:code)? ([^}]*)\}/g, "$1").replaceAll(/\s*\n\s*/g, " ")
        .trim();
      return text === undefined ? [] : [[key, text] as const];
    }),
  );
}
