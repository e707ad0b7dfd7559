import manifest from "../deno.json" with { type: "json" };

/** Version of this package. */
export const PADDOCK_VERSION: string = manifest.version;
