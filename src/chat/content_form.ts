/**
 * Form in which a template takes the content of messages: as text, or as a list of parts such as `{ type: "text", text }`.
 */
export type ContentForm = "text" | "parts";

/** A message of a template, of which the content may be text. */
interface ChatMessage {
  readonly role: string;
  readonly content?: unknown;
}

/** Renders a chat with the variables of the template. */
type RenderChat = (messages: readonly object[]) => string;

const PLACEHOLDER = "\ue000";
const CALL = { id: "000000000", type: "function", function: { name: "-", arguments: {} } };

/**
 * Gives a template the contents in the form that the template shows. Templates of models that see images loop over the
 * parts of a content; some of them show nothing of a text, and others fail.
 */
export class ContentForms {
  /** False for a template that never names the type of a text part. Contents of such a template are texts. */
  readonly #mayTakeParts: boolean;
  readonly #forms = new Map<string, ContentForm>();

  constructor(source: string) {
    this.#mayTakeParts = /['"]text['"]/.test(source);
  }

  /** Returns the messages with each text in the form that the template shows for the role. */
  apply<Message>(messages: readonly Message[], render: RenderChat): readonly (Message | object)[] {
    if (!this.#mayTakeParts) return messages;
    return messages.map((message) => {
      if (!hasText(message) || this.formOf(message.role, render) === "text") return message;
      return { ...message, content: partsOf(message.content) };
    });
  }

  /** Returns the form in which the template shows contents of a role. */
  formOf(role: string, render: RenderChat): ContentForm {
    if (!this.#mayTakeParts) return "text";
    const known = this.#forms.get(role);
    if (known !== undefined) return known;
    this.#forms.set(role, "text"); // while the role is tried
    const user = role === "user" ? "text" : this.formOf("user", render);
    const assistant = role === "user" || role === "assistant" ? "text" : this.formOf("assistant", render);
    const shows = (form: ContentForm) => {
      try {
        return render(probe(role, form, { user, assistant })).includes(PLACEHOLDER);
      } catch {
        return false; // the template takes another form, or rejects the role
      }
    };
    const form = !shows("text") && shows("parts") ? "parts" : "text";
    this.#forms.set(role, form);
    return form;
  }
}

function hasText(message: unknown): message is ChatMessage & { content: string } {
  return typeof message === "object" && message !== null && "content" in message && "role" in message &&
    typeof message.content === "string" && typeof message.role === "string";
}

function partsOf(text: string): object[] {
  return [{ type: "text", text }];
}

function contentOf(text: string, form: ContentForm): unknown {
  return form === "text" ? text : partsOf(text);
}

/** Returns a small chat with a placeholder in a message of the role. */
function probe(
  role: string,
  form: ContentForm,
  forms: { user: ContentForm; assistant: ContentForm },
): object[] {
  const question = { role: "user", content: contentOf("-", forms.user) };
  const shown = { role, content: contentOf(PLACEHOLDER, form) };
  if (role === "user") return [shown];
  if (role === "assistant") return [question, shown];
  if (role === "system" || role === "developer") return [shown, question];
  const call = { role: "assistant", content: contentOf("", forms.assistant), tool_calls: [CALL] };
  return [question, call, { ...shown, name: "-", tool_call_id: CALL.id }];
}
