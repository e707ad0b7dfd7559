/**
 * The shell's engine. The image build bundles the engine into a single module, since a guest must not import packages.
 */
import { deflateSync, inflateSync } from "node:zlib";

export { Bash, defineCommand } from "just-bash/browser";
export { deflateSync, inflateSync };
