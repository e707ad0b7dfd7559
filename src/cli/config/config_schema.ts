import type { Command } from "commander";
import { type ConfigKey, configKeys } from "./config_keys.ts";

/** Commands that read a section of the configuration file. */
export const CONFIGURED: readonly string[] = ["serve", "gateway", "rollout"];

/** A JSON Schema. */
type Schema = Readonly<Record<string, unknown>>;

/** Returns the JSON Schema of `paddock.jsonc`, made from the options of the commands. */
export function configSchema(paddock: Command): Schema {
  const commands = paddock.commands.filter((command) => CONFIGURED.includes(command.name()));
  return {
    $schema: "https://json-schema.org/draft-07/schema#",
    title: "paddock.jsonc",
    description: "Options of 'paddock serve', 'paddock gateway' and 'paddock rollout', for --config",
    type: "object",
    properties: {
      $schema: { type: "string" },
      ...Object.fromEntries(commands.map((command) => [command.name(), sectionSchema(command)])),
    },
    additionalProperties: false,
    allowTrailingCommas: true,
  };
}

function sectionSchema(command: Command): Schema {
  const keys = [...configKeys(command).values()];
  return {
    description: command.description(),
    type: "object",
    properties: Object.fromEntries(keys.map((key) => [key.name, keySchema(key)])),
    additionalProperties: false,
  };
}

function keySchema(key: ConfigKey): Schema {
  const { option, isList } = key;
  const { description, defaultValue } = option;
  const value = valueSchema(key);
  return {
    description,
    ...(isList ? { oneOf: [value, { type: "array", items: value }] } : value),
    ...(defaultValue !== undefined && { default: defaultValue }),
  };
}

function valueSchema({ type }: ConfigKey): Schema {
  switch (type.kind) {
    case "boolean":
      return { type: "boolean" };
    case "number": {
      const { isWhole, least } = type.range;
      return { type: isWhole ? "integer" : "number", ...(least !== undefined && { minimum: least }) };
    }
    case "choice":
      return { enum: type.names };
    case "string":
      return { type: "string", minLength: 1 };
  }
}
