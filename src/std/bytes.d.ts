/** Returns the bytes of all buffers as one new array. */
export function concat(buffers: readonly Uint8Array[]): Uint8Array<ArrayBuffer>;
