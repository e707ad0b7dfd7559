import { z } from "zod";
import { errorMessage } from "../errors.ts";
import { type Message, parseMessage } from "../message.ts";

/** Schema of the messages of an episode. */
export const chatSchema: z.ZodType<Message[]> = z.array(z.unknown()).transform(
  (messages, context): Message[] => {
    try {
      return messages.map(parseMessage);
    } catch (error) {
      context.addIssue({ code: "custom", message: errorMessage(error) });
      return z.NEVER;
    }
  },
);

/** Describes the first three issues of an invalid value. */
export function describeIssues({ issues }: z.ZodError): string {
  const faults = issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`
  );
  return faults.slice(0, 3).join("; ");
}
