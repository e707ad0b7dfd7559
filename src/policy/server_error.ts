/** Fields of the error that a model server sends. */
export interface ServerError {
  readonly code: unknown;
  readonly type: unknown;
  readonly param: unknown;
  /** Empty if the error has no text. */
  readonly message: string;
}

/**
 * Returns the fields of an error in the forms of servers: `{ error: {…} }`, `{ error: "…" }`, `{ message, … }`,
 * `{ detail }`, text.
 */
export function serverErrorOf(body: unknown): ServerError {
  const outer = Object(body);
  const isNested = typeof outer.error === "object" && outer.error !== null;
  const { code, type, param, ...texts } = isNested ? outer.error : outer;
  const message = [texts.message, texts.error, texts.detail, body].find((text) => typeof text === "string");
  return { code, type, param, message: message ?? "" };
}

/**
 * Returns whether a response with the status 200 is an error in place of a reply: the response has an `error`, the
 * `message` of older versions of vLLM and SGLang, or the `detail` of FastAPI, and neither choices nor a text.
 */
export function isServerError(response: unknown): boolean {
  const { object, error, message, detail, choices, text } = Object(response);
  if ((Array.isArray(choices) && choices.length > 0) || typeof text === "string") return false;
  return Boolean(error) || object === "error" || typeof message === "string" || Boolean(detail);
}
