import type { JinjaTemplate } from "./jinja_template.ts";

const PLACEHOLDER = "\ue000";
const CALL = { id: "000000000", type: "function", function: { name: "-", arguments: {} } };

/**
 * Returns the role under which a template renders a tool message: the message's own role, or else `tool`.
 *
 * @throws {TypeError} if the template silently drops messages of both roles.
 */
export function findDisplayRole(
  role: string,
  template: JinjaTemplate,
  variables: Readonly<Record<string, unknown>>,
): string {
  const displayed = [role, "tool"].find((role) => isRendered(role, template, variables));
  if (displayed !== undefined) return displayed;
  throw new TypeError(
    `Cannot render message as template '${template.name}' must support its role: ` +
      `it drops messages of role '${role}'`,
  );
}

function isRendered(
  role: string,
  template: JinjaTemplate,
  variables: Readonly<Record<string, unknown>>,
): boolean {
  const messages = [
    { role: "user", content: "-" },
    { role: "assistant", content: "", tool_calls: [CALL] },
    { role, content: PLACEHOLDER, name: "-", tool_call_id: CALL.id },
  ];
  try {
    return template.render({ messages, tools: null, ...variables }).includes(PLACEHOLDER);
  } catch {
    return true; // The template rejects the message with an error, and does so again when the chat is rendered.
  }
}
