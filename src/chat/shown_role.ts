import type { JinjaTemplate } from "./jinja_template.ts";

const SAID = "\ue000";
const CALL = { id: "000000000", type: "function", function: { name: "-", arguments: {} } };

/**
 * The role under which a template shows what a tool says: the tool's own, else `tool`.
 *
 * @throws {TypeError} when the template would drop either without a word.
 */
export function shownRole(
  role: string,
  template: JinjaTemplate,
  variables: Readonly<Record<string, unknown>>,
): string {
  const shown = [role, "tool"].find((role) => shows(role, template, variables));
  if (shown !== undefined) return shown;
  throw new TypeError(
    `Cannot render message as template '${template.name}' must have a place for it: ` +
      `it drops messages of role '${role}'`,
  );
}

function shows(role: string, template: JinjaTemplate, variables: Readonly<Record<string, unknown>>): boolean {
  const messages = [
    { role: "user", content: "-" },
    { role: "assistant", content: "", tool_calls: [CALL] },
    { role, content: SAID, name: "-", tool_call_id: CALL.id },
  ];
  try {
    return template.render({ messages, tools: null, ...variables }).includes(SAID);
  } catch {
    return true; // it refuses the message aloud, and will do so again when the chat is rendered
  }
}
