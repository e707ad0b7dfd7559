/** Returns an id that cannot be guessed: 192 random bits as 32 characters of base64url. */
export function randomId(): string {
  return crypto.getRandomValues(new Uint8Array(24)).toBase64({ alphabet: "base64url" });
}
