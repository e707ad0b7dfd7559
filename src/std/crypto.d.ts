/** True if the bytes are equal. Takes the same time wherever they differ. Throws a TypeError if the lengths differ. */
export function timingSafeEqual(a: Uint8Array, b: Uint8Array): boolean;
