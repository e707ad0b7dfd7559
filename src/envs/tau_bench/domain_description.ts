import * as z from "zod";
import type { ToolInfo, ToolUserAction } from "../tool_user_env.ts";

/** Task as its domain defines it. */
export interface DomainTask {
  readonly user_id: string;
  readonly instruction: string;
  /** Expected actions, with Python's own text of the arguments. */
  readonly actions: readonly (ToolUserAction & { readonly kwargsText: string })[];
  /** Texts that the agent must tell the user. */
  readonly outputs: readonly string[];
}

/** Description of a domain. */
export interface DomainDescription {
  readonly tools_info: readonly ToolInfo[];
  readonly wiki: string;
  readonly rules: readonly string[];
  readonly terminate_tools: readonly string[];
  /** Tasks of each split. */
  readonly tasks: Readonly<Record<string, readonly DomainTask[]>>;
}

const actionSchema = z.object({ name: z.string(), kwargs: z.string() }).transform(({ name, kwargs }) => ({
  name,
  kwargs: z.record(z.string(), z.unknown()).parse(JSON.parse(kwargs)),
  kwargsText: kwargs,
}));

const taskSchema: z.core.$ZodType<DomainTask> = z.object({
  user_id: z.string(),
  instruction: z.string(),
  actions: z.array(actionSchema),
  outputs: z.array(z.string()),
});

const toolShape = z.object({
  type: z.literal("function"),
  function: z.object({
    name: z.string(),
    description: z.string(),
    parameters: z.record(z.string(), z.unknown()),
  }),
});

/** Accepts a tool unchanged: chat templates show all its keys, unknown ones too, in their order. */
const toolSchema = z.custom<ToolInfo>((value) => toolShape.safeParse(value).success, "must be a tool");

/** Schema of a domain's description. */
export const descriptionSchema: z.core.$ZodType<DomainDescription> = z.object({
  tools_info: z.array(toolSchema),
  wiki: z.string(),
  rules: z.array(z.string()),
  terminate_tools: z.array(z.string()),
  tasks: z.record(z.string(), z.array(taskSchema)),
});
