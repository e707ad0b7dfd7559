import manifest from "../deno.json" with { type: "json" };

/** Version of this package. */
export const PADDOCK_VERSION: string = manifest.version;

/** Version of Deno that Paddock is tested with and that its packages start. */
export const DENO_VERSION: string = manifest.engines.deno;

/** Minimum version of Deno. */
export const DENO_NEEDED = "2.9.4";
