import type { JinjaTemplate } from "./chat_template.ts";

/** Template and variables, from which properties are found by rendering small chats. */
export interface ProbedTemplate {
  readonly template: JinjaTemplate;
  readonly variables: Readonly<Record<string, unknown>>;
}

const PLACEHOLDER = "\ue000";
const QUESTION = { role: "user", content: "-" };
const CALL = { id: "000000000", type: "function", function: { name: "-", arguments: {} } };
/**
 * Tokens that end a reply in place of the template's token, which no small chat shows: Llama's before the result of a
 * built-in tool, and the ends of a text, at which servers stop.
 */
const OTHER_ENDS: readonly string[] = ["<|eom_id|>", "<|eom|>", "<|endoftext|>", "<|end_of_text|>", "<eos>"];

function renderProbe(
  { template, variables }: ProbedTemplate,
  messages: readonly object[],
): string | undefined {
  try {
    return template.render({ messages, tools: null, ...variables });
  } catch {
    return undefined; // the template rejects the probe, and throws again for a rejected chat of the same form
  }
}

/**
 * Returns the control tokens that end an assistant's turn: tokens that the template can write directly after a reply,
 * in the last message or before, and after a call. gpt-oss has a separate token for each of these places. GLM has no
 * such token: the token of the next speaker follows. The template's own tokens come first.
 */
export function findEndTokens(
  probed: ProbedTemplate,
  { controls, callEnd, eosToken }: {
    controls: readonly string[];
    callEnd?: string | undefined;
    eosToken?: string | undefined;
  },
): string[] {
  const reply = { role: "assistant", content: PLACEHOLDER };
  const after = (messages: readonly object[]) => {
    const [, suffix = ""] = renderProbe(probed, messages)?.split(PLACEHOLDER) ?? [];
    return suffix;
  };
  const last = after([QUESTION, reply]);
  const between = after([QUESTION, reply, { role: "user", content: PLACEHOLDER }]);
  const found = [
    ...controls.filter((control) => last.startsWith(control)),
    ...controls.filter((control) => between.startsWith(control) && between.trim() !== control),
    callEnd,
    eosToken,
    ...OTHER_ENDS.filter((end) => controls.includes(end)),
  ];
  return [...new Set(found.filter((end) => end !== undefined))];
}

/**
 * Returns the control token with which the template ends a message that calls a tool. A token that stands after each of
 * several calls belongs to a call, and does not end the message.
 */
export function findCallEnd(probed: ProbedTemplate, controls: readonly string[]): string | undefined {
  const args = [{ "-": PLACEHOLDER }, JSON.stringify({ "-": PLACEHOLDER })];
  for (const value of args) {
    for (const content of ["", null]) {
      const [one = "", two] = [1, 2].map((count) => {
        const calls = Array.from(
          { length: count },
          () => ({ ...CALL, function: { name: "-", arguments: value } }),
        );
        const text = renderProbe(probed, [QUESTION, { role: "assistant", content, tool_calls: calls }]);
        return text?.slice(text.indexOf(PLACEHOLDER) + 1);
      });
      const end = controls.find((control) => one.trimEnd().endsWith(control));
      if (end === undefined) continue;
      const isOfCall = two !== undefined && two.split(end).length > 2;
      return isOfCall || endsWithHeader(probed, end) ? undefined : end;
    }
  }
  return undefined;
}

/** True if each chat ends with the header of the next reply, and with this token. */
function endsWithHeader(probed: ProbedTemplate, token: string): boolean {
  const [plain, prompted] = [false, true].map((add_generation_prompt) =>
    renderProbe({ ...probed, variables: { ...probed.variables, add_generation_prompt } }, [QUESTION])
  );
  return plain !== undefined && plain === prompted && plain.trimEnd().endsWith(token);
}

/**
 * Returns the token that the template writes only at the end of a whole chat, as Phi 3's template does: no longer
 * chat has the token in that place.
 */
export function findChatEnd(probed: ProbedTemplate, eosToken: string | undefined): string | undefined {
  const [plain, prompted] = [false, true].map((add_generation_prompt) =>
    renderProbe({ ...probed, variables: { ...probed.variables, add_generation_prompt } }, [QUESTION])
  );
  if (plain === undefined || prompted === undefined || eosToken === undefined) return undefined;
  return plain.endsWith(eosToken) && !prompted.startsWith(plain) ? eosToken : undefined;
}

/** Returns the opening of a thought with which the template's generation prompt ends, such as `<think>\n`. */
export function findOpenedThought(probed: ProbedTemplate): string | undefined {
  const text = renderProbe({ ...probed, variables: { ...probed.variables, add_generation_prompt: true } }, [
    QUESTION,
  ]);
  return text === undefined ? undefined : /<think>\s*$/.exec(text)?.[0];
}

/**
 * Returns the role under which a template renders a tool message: the message's own role, or else `tool`.
 *
 * @throws {TypeError} if the template silently drops messages of both roles.
 */
export function findDisplayRole(role: string, probed: ProbedTemplate): string {
  const call = { role: "assistant", content: "", tool_calls: [CALL] };
  const displayed = [role, "tool"].find((role) => showsResult(probed, role, call));
  if (displayed !== undefined) return displayed;
  throw new TypeError(
    `Cannot render message as template '${probed.template.name}' must support its role: ` +
      `it drops messages of role '${role}'`,
  );
}

/** True if a template shows a tool's result only after a message with native calls, as gpt-oss's and Gemma 4's do. */
export function needsCallsBeforeResults(probed: ProbedTemplate): boolean {
  const result = { role: "tool", content: PLACEHOLDER, name: "-", tool_call_id: CALL.id };
  const shows = (reply: object) =>
    renderProbe(probed, [QUESTION, reply, result])?.includes(PLACEHOLDER) === true;
  if (shows({ role: "assistant", content: "-" })) return false;
  return shows({ role: "assistant", content: "", tool_calls: [CALL] });
}

/**
 * True if a template writes the id of a call in the call's result, where a result without the call has no id, as Kimi K2's
 * template.
 */
export function namesCallsInResults(probed: ProbedTemplate): boolean {
  const id = "zq7callid";
  const call = { role: "assistant", content: "", tool_calls: [{ ...CALL, id }] };
  const result = { role: "tool", content: "-", name: "-", tool_call_id: id };
  const count = (messages: readonly object[]) => (renderProbe(probed, messages)?.split(id).length ?? 1) - 1;
  const added = count([QUESTION, call, result]) - count([QUESTION, call]);
  return added > count([QUESTION, { role: "assistant", content: "-" }, result]);
}

function showsResult(probed: ProbedTemplate, role: string, reply: object): boolean {
  const result = { role, content: PLACEHOLDER, name: "-", tool_call_id: CALL.id };
  const text = renderProbe(probed, [QUESTION, reply, result]);
  return text === undefined || text.includes(PLACEHOLDER);
}
