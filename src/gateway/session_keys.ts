import { randomId } from "../random_id.ts";

const PREFIX = "paddock-";

/** Id and key of a session. */
export interface SessionIdentity {
  readonly id: string;
  /** Secret with which the agent asks the model. */
  readonly key: string;
}

/** Returns the id and the key of a new session. */
export function newIdentity(): SessionIdentity {
  return { id: `gs-${crypto.randomUUID()}`, key: `${PREFIX}${randomId()}` };
}

/** Returns a session's key in the form of E2B, whose SDKs take hexadecimal digits only. */
export function e2bKeyOf(key: string): string {
  return `e2b_${Uint8Array.fromBase64(key.slice(PREFIX.length), { alphabet: "base64url" }).toHex()}`;
}

/** Returns both forms of a session's key. */
export function keysOf(key: string): string[] {
  return [key, e2bKeyOf(key)];
}
