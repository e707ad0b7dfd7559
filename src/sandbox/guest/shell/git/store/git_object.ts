/** Types of the objects of a repository. */
export type ObjectKind = "blob" | "tree" | "commit" | "tag";

/** Contents of an object. */
export interface GitObject {
  readonly kind: ObjectKind;
  readonly bytes: Uint8Array;
}
