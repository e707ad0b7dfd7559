import type { Body } from "../syntax/nodes.ts";
import type { Frame, Scope } from "./scope.ts";

/** End of a statement: as usual, or by leaving the loop or the iteration. */
export type Signal = "next" | "break" | "continue";

/** A compiled statement. */
export type Execute = (frame: Frame) => Signal;

/** Compiles the statements of a scope, whose symbols have been read. */
export type CompileBody = (body: Body, scope: Scope) => Execute;
