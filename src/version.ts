import manifest from "../deno.json" with { type: "json" };

/** The version of this package. */
export const PADDOCK_VERSION: string = manifest.version;
