/**
 * Encryption of everything that a cluster gives to NATS, by the key that the members share. NATS, and every user of
 * NATS' account, handles bytes without the key. Each member derives a separate key for each million of messages: random
 * nonces of 12 bytes would repeat some day if one key sealed all messages.
 *
 * | bytes | content of a sealed text                           |
 * | ----- | -------------------------------------------------- |
 * | 12    | salt of the key, at random                         |
 * | 12    | nonce, at random                                   |
 * | n     | text, encrypted by ChaCha20                        |
 * | 16    | tag: Poly1305 of the text and of the text's place  |
 *
 * @module
 */
import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";
import { Buffer } from "node:buffer";
import { ArgumentRangeError } from "../../errors.ts";

/** Least bytes of the key of a cluster. */
export const MIN_KEY_BYTES = 32;
/** Bytes of a sealed text beside the text. */
export const SEAL_BYTES = 40;
/** Hash of an id in a subject or in the name of an entry. */
export const ID_HASH: RegExp = /^[0-9a-f]{32}$/;

const CIPHER = "chacha20-poly1305";
const [SALT_BYTES, NONCE_BYTES, TAG_BYTES] = [12, 12, 16];
const TAG = { authTagLength: TAG_BYTES };
const TEXT_AT = SALT_BYTES + NONCE_BYTES;
/** Number of texts that a key seals. */
const MAX_KEY_TEXTS = 1 << 20;
/** Keys of other members that are remembered. */
const MAX_KEYS = 1_000;
const OBJECT_NONCE_BYTES = 12;
/** Hashes that are remembered. */
const MAX_HASHES = 10_000;
const encoder = new TextEncoder();

/** Seals texts with the key of a cluster, and hashes ids with the key. */
export class Seal {
  readonly #ids: Uint8Array;
  readonly #messages: Uint8Array;
  readonly #objects: Uint8Array;
  readonly #hashes = new Map<string, string>();
  /** Keys by their salts, only of salts with which a member has sealed a text. */
  readonly #keys = new Map<string, Uint8Array>();
  #own: { salt: Uint8Array; key: Uint8Array; texts: number } | undefined;

  /**
   * @param cluster Name of the cluster. Another cluster with the same key has other hashes and opens no text of this
   * cluster.
   * @throws {ArgumentRangeError} if the key has fewer than 32 bytes.
   */
  constructor(key: Uint8Array, cluster: string) {
    if (key.length < MIN_KEY_BYTES) {
      throw new ArgumentRangeError(
        `Cannot join cluster as its key must have at least ${MIN_KEY_BYTES} bytes: it has ${key.length}`,
      );
    }
    const derive = (purpose: string) => hmac(key, `paddock cluster ${purpose} ${cluster}`);
    this.#ids = derive("ids");
    this.#messages = derive("messages");
    this.#objects = derive("objects");
  }

  /** Returns the hash of an id, which tells nothing about the id to readers without the key. */
  hash(kind: string, id: string): string {
    const text = `${kind} ${id}`;
    const known = this.#hashes.get(text);
    if (known !== undefined) return known;
    if (this.#hashes.size >= MAX_HASHES) this.#hashes.clear();
    const hash = hmac(this.#ids, text).subarray(0, 16).toHex();
    this.#hashes.set(text, hash);
    return hash;
  }

  /** Seals a text for a place: the subject of a message, or the bucket and the name of an entry. */
  seal(place: string, text: Uint8Array): Uint8Array<ArrayBuffer> {
    const { salt, key } = this.#ownKey();
    const sealed = new Uint8Array(text.length + SEAL_BYTES);
    sealed.set(salt);
    const nonce = crypto.getRandomValues(sealed.subarray(SALT_BYTES, TEXT_AT));
    const cipher = createCipheriv(CIPHER, key, nonce, TAG);
    cipher.setAAD(encoder.encode(place), { plaintextLength: text.length });
    sealed.set(cipher.update(text), TEXT_AT);
    cipher.final();
    sealed.set(cipher.getAuthTag(), TEXT_AT + text.length);
    return sealed;
  }

  /** Returns a text that was sealed for this place, or `undefined` if no member of the cluster has done so. */
  open(place: string, sealed: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
    if (sealed.length < SEAL_BYTES) return undefined;
    const salt = sealed.subarray(0, SALT_BYTES);
    const name = salt.toHex();
    const key = this.#keys.get(name) ?? this.#deriveKey(salt);
    const tagAt = sealed.length - TAG_BYTES;
    const decipher = createDecipheriv(CIPHER, key, sealed.subarray(SALT_BYTES, TEXT_AT), TAG);
    decipher.setAAD(encoder.encode(place), { plaintextLength: tagAt - TEXT_AT });
    decipher.setAuthTag(sealed.subarray(tagAt));
    try {
      const text = new Uint8Array(decipher.update(sealed.subarray(TEXT_AT, tagAt)));
      decipher.final();
      this.#remember(name, key);
      return text;
    } catch {
      return undefined; // the tag is wrong
    }
  }

  /** Seals a large text off this thread, by AES-GCM with a key of the place. */
  async sealObject(place: string, text: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
    const iv = crypto.getRandomValues(new Uint8Array(OBJECT_NONCE_BYTES));
    const key = await this.#objectKey(place);
    const encrypted = await crypto.subtle.encrypt(
      { name: "AES-GCM", iv },
      key,
      text as Uint8Array<ArrayBuffer>,
    );
    const sealed = new Uint8Array(OBJECT_NONCE_BYTES + encrypted.byteLength);
    sealed.set(iv);
    sealed.set(new Uint8Array(encrypted), OBJECT_NONCE_BYTES);
    return sealed;
  }

  /** Returns a large text that was sealed for this place, or `undefined` if no member of the cluster has done so. */
  async openObject(
    place: string,
    sealed: Uint8Array<ArrayBuffer>,
  ): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const iv = sealed.subarray(0, OBJECT_NONCE_BYTES);
    const key = await this.#objectKey(place);
    try {
      const text = await crypto.subtle.decrypt(
        { name: "AES-GCM", iv },
        key,
        sealed.subarray(OBJECT_NONCE_BYTES),
      );
      return new Uint8Array(text);
    } catch {
      return undefined; // the tag is wrong, or missing
    }
  }

  #ownKey(): { readonly salt: Uint8Array; readonly key: Uint8Array } {
    if (this.#own === undefined || this.#own.texts >= MAX_KEY_TEXTS) {
      const salt = crypto.getRandomValues(new Uint8Array(SALT_BYTES));
      this.#own = { salt, key: this.#deriveKey(salt), texts: 0 };
    }
    this.#own.texts++;
    return this.#own;
  }

  #deriveKey(salt: Uint8Array): Uint8Array {
    return hmac(this.#messages, salt);
  }

  #remember(name: string, key: Uint8Array): void {
    if (this.#keys.has(name)) return;
    if (this.#keys.size >= MAX_KEYS) this.#keys.clear();
    this.#keys.set(name, key);
  }

  async #objectKey(place: string): Promise<CryptoKey> {
    return await crypto.subtle.importKey("raw", hmac(this.#objects, place), "AES-GCM", false, [
      "encrypt",
      "decrypt",
    ]);
  }
}

function hmac(key: Uint8Array, text: string | Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHmac("sha256", Buffer.from(key)).update(text).digest());
}
