import * as z from "zod";
import type { ToolInfo } from "../tool_user_env.ts";

const actionSchema = z.object({ name: z.string(), kwargs: z.string() }).transform(({ name, kwargs }) => ({
  name,
  kwargs: z.record(z.string(), z.unknown()).parse(JSON.parse(kwargs)),
  /** Python's own text of the arguments. */
  kwargsText: kwargs,
}));

const taskSchema = z.object({
  user_id: z.string(),
  instruction: z.string(),
  /** Expected actions. */
  actions: z.array(actionSchema),
  /** Texts that the agent must tell the user. */
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

/** Task as its domain defines it. */
export type DomainTask = z.output<typeof taskSchema>;

/** Accepts a tool unchanged: chat templates show all its keys, unknown ones too, in their order. */
const toolSchema = z.custom<ToolInfo>((value) => toolShape.safeParse(value).success, "must be a tool");

/** Schema of a domain's description. */
export const descriptionSchema = z.object({
  tools_info: z.array(toolSchema),
  wiki: z.string(),
  rules: z.array(z.string()),
  terminate_tools: z.array(z.string()),
  /** Tasks of each split. */
  tasks: z.record(z.string(), z.array(taskSchema)),
});

/** Description of a domain. */
export type DomainDescription = z.output<typeof descriptionSchema>;
