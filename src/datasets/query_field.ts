import { z } from "zod";
import { errorMessage } from "../errors.ts";
import { History } from "../history.ts";
import type { Task } from "../task.ts";

/** Schema of a query: text, a list of messages, or a {@linkcode History}. */
export const queryField = z.unknown().transform((value, context): Task["query"] => {
  try {
    return parseQuery(value);
  } catch (error) {
    context.issues.push({
      code: "custom",
      message: errorMessage(error),
      input: value,
    });
    return z.NEVER;
  }
});

function parseQuery(value: unknown): Task["query"] {
  if (typeof value === "string" && value !== "") return value;
  if (value instanceof History && value.length > 0) return value;
  if (Array.isArray(value) && value.length > 0) return History.fromChats(value).toChats();
  const found = JSON.stringify(value)?.slice(0, 80) ?? "nothing";
  throw new TypeError(`must be a text or a list of messages, not empty: found ${found}`);
}
