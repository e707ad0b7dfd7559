/** Returns bytes as base64. */
export function encodeBase64(data: Uint8Array): string;

/** Returns bytes as hexadecimal digits in lower case. */
export function encodeHex(data: Uint8Array): string;

/** Returns the bytes of base64. Throws a TypeError if the text is not base64. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer>;
