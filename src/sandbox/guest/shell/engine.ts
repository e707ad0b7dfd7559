/** The shell's engine: bundled into one module when an image is built, as a guest imports no package. */
export { Bash, defineCommand } from "just-bash/browser";
