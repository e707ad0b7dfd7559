import * as z from "zod";
import type { ToolSpec } from "../../message.ts";
import { GatewayError } from "../gateway_error.ts";
import type { ToolChoice } from "../model_request.ts";
import { parseBody } from "./dialect.ts";

const named = z.looseObject({ type: z.literal("function").optional(), name: z.string() });
/** A tool of a list: chat completions nest the name, and responses do not. */
const listed = z.union([
  z.looseObject({ function: z.looseObject({ name: z.string() }) }).transform((tool) => tool.function.name),
  named.transform(({ name }) => name),
]);
const allowed = z.looseObject({ mode: z.enum(["auto", "required"]), tools: z.array(listed).min(1) });

const openaiChoice = z.union([
  z.enum(["none", "auto", "required"]).transform((mode) => ({ mode })),
  z.looseObject({ type: z.literal("function"), function: z.looseObject({ name: z.string() }) })
    .transform((choice) => ({ mode: "required" as const, names: [choice.function.name] })),
  z.looseObject({ type: z.literal("function"), name: z.string() })
    .transform(({ name }) => ({ mode: "required" as const, names: [name] })),
  z.looseObject({ type: z.literal("allowed_tools"), allowed_tools: allowed })
    .transform(({ allowed_tools: { mode, tools } }) => ({ mode, names: tools })),
  allowed.extend({ type: z.literal("allowed_tools") }).transform(({ mode, tools }) => ({
    mode,
    names: tools,
  })),
], { error: ({ input }) => `must choose functions that the request offers: found ${shown(input)}` });

const anthropicChoice = z.looseObject({
  type: z.enum(["auto", "any", "tool", "none"]),
  name: z.string().optional(),
  disable_parallel_tool_use: z.boolean().nullish(),
});

/**
 * Parses `tool_choice` of OpenAI's dialects.
 *
 * @throws {GatewayError} `invalid` if it is none, or names a tool that the request does not offer.
 */
export function openaiToolChoice(
  value: unknown,
  { tools, isSingle }: { tools: readonly ToolSpec[]; isSingle: boolean },
): ToolChoice {
  const { tool_choice: choice } = parseBody(z.object({ tool_choice: openaiChoice }), {
    tool_choice: value ?? "auto",
  });
  return requireOffered({ ...choice, isSingle }, tools);
}

/** Parses `tool_choice` of Anthropic's dialect, as {@linkcode openaiToolChoice} does. */
export function anthropicToolChoice(value: unknown, tools: readonly ToolSpec[]): ToolChoice {
  const { tool_choice: choice } = parseBody(z.object({ tool_choice: anthropicChoice }), {
    tool_choice: value ?? { type: "auto" },
  });
  const { type, name, disable_parallel_tool_use: isSingle } = choice;
  if (type === "tool" && name === undefined) {
    throw new GatewayError("invalid", "tool_choice: the type 'tool' must have a name: found none");
  }
  const mode = type === "any" || type === "tool" ? "required" : type;
  const names = type === "tool" && name !== undefined ? [name] : undefined;
  return requireOffered({ mode, names, isSingle: isSingle ?? false }, tools);
}

function requireOffered(choice: ToolChoice, tools: readonly ToolSpec[]): ToolChoice {
  const missing = choice.names?.find((name) => !tools.some((tool) => tool.name === name));
  if (missing !== undefined) {
    throw new GatewayError("invalid", `tool_choice: there must be a function ${shown(missing)}: found none`);
  }
  if (choice.mode === "required" && tools.length === 0) {
    throw new GatewayError("invalid", "tool_choice: a call can be required of functions only: found none");
  }
  return choice;
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").slice(0, 100);
}
