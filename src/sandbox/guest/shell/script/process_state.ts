import type { ShellState } from "../builtins/builtin.ts";
import type { ProcessEntry } from "../gnu/command.ts";
import { decodeState, encodeState } from "../shell_image.ts";
import { functionVariable } from "../builtins/functions.ts";

/** Values, between two commands, of those parts of the engine's state that an aborted command leaves wrong. */
export const IDLE_STATE = {
  localScopes: [],
  callDepth: 0,
  sourceDepth: 0,
  loopDepth: 0,
  inCondition: false,
  groupStdin: undefined,
  signal: undefined,
  extraArgs: undefined,
  fileDescriptors: undefined,
  funcNameStack: undefined,
  callLineStack: undefined,
  sourceStack: undefined,
  localArrayScopes: undefined,
  localExportedVars: undefined,
  localVarStack: undefined,
  localVarDepth: undefined,
  processSubstitutions: undefined,
  processSubstitutionFsMounted: undefined,
};

/** The engine's state of a script. */
export interface State {
  readonly env: ReadonlyMap<string, string>;
  readonly exportedVars: ReadonlySet<string>;
  readonly cwd: string;
  readonly functions: ShellState["functions"];
  readonly exportedFunctions?: ReadonlySet<string>;
  /** Variables that precede a command. */
  readonly tempExportedVars?: ReadonlySet<string>;
  readonly bashPid: number;
  lastExitCode: number;
  readonly [name: string]: unknown;
}

/** Parts of a state that belong to the process: they are not copied, or no data. */
const OWN_PARTS = {
  signal: undefined,
  extraArgs: undefined,
  groupStdin: "",
  inCondition: false,
  processSubstitutions: undefined,
  processSubstitutionFsMounted: undefined,
};

/** Returns the state of a job: a copy of its shell's state with a number of its own, without traps of signals. */
export function jobState(state: State, pid: number): State {
  const { fileDescriptors, functions, traps, ...rest } = { ...state, ...OWN_PARTS } as State;
  const copy = decodeState(encodeState(rest)) as State;
  const inherited = (traps as ShellState["traps"])?.get(state.bashPid) ?? new Map<string, string>();
  const ignored = [...inherited].filter(([, action]) => action === "");
  return {
    ...copy,
    bashPid: pid,
    functions: new Map(functions),
    fileDescriptors: fileDescriptors && new Map(fileDescriptors as ReadonlyMap<number, unknown>),
    traps: new Map([[pid, new Map(ignored)]]),
  };
}

/** Returns the initial state of a program's shell, which exports only what the program gives it. */
export function programState(state: State, env: Readonly<Record<string, string>>): State {
  const variables = new Map(state.env);
  if (!("HOME" in env)) variables.delete("HOME");
  return { ...state, env: variables, exportedVars: new Set(Object.keys(env)) };
}

/** Returns the shell as a process. */
export function shellProcess(state: State | undefined): ProcessEntry[] {
  if (!state) return [];
  const { virtualPid, startTime } = state as unknown as ShellState;
  return [{ pid: virtualPid, parentPid: 0, command: "bash", startedMs: startTime }];
}

const VERSION = ["5", "2", "15", "1", "release", "x86_64-pc-linux-gnu"];

/** Adds the array that has the version of bash. */
export function addVersion(state: Record<string, unknown>): void {
  const elements = new Map(VERSION.map((part, at) => [String(at), part]));
  const arrays = state.arrays instanceof Map ? state.arrays : [];
  state.arrays = new Map([...arrays, ["BASH_VERSINFO", { kind: "indexed", elements, isAssigned: true }]]);
}

/** Options of a script that a command runs. */
export interface ChildOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** True if `env` has all variables. */
  readonly replaceEnv?: boolean;
}

/** Names of variables. The engine also passes a script's arguments by names such as `1` and `@`. */
const NAME = /^[A-Za-z_]\w*$/;

/** True if a script is a separate process. A script that is only expanded inside another has no `cwd` option. */
export function isChildProcess(options: ChildOptions | undefined): options is ChildOptions {
  return options !== undefined && "cwd" in options;
}

/** Sets of names of variables with a type, of which a program has none at its start. */
const TYPED_VARIABLES = ["associativeArrays", "integerVars", "lowercaseVars", "namerefs", "uppercaseVars"];

/** Makes a copy of a script's state the state of a program that the script calls by its path. */
export function becomeProgram(state: State, pristine: State): void {
  const program = childState(state, pristine, { env: Object.fromEntries(temporaryVariables(state)) });
  const special = [...state.env].filter(([name]) => !NAME.test(name));
  const { env, functions, arrays, options, shoptOptions, readonlyVars } = program;
  const kept = new Map([...special, ...env, ...temporaryVariables(state)]);
  kept.set("SHLVL", String((Number(kept.get("SHLVL")) || 0) + 1));
  const ownSets = Object.fromEntries(TYPED_VARIABLES.map((name) => [name, new Set()]));
  Object.assign(state, {
    ...ownSets,
    env: kept,
    functions,
    arrays: new Map(arrays as Map<string, unknown>),
    options: { ...options as object },
    shoptOptions: { ...shoptOptions as object },
    readonlyVars: new Set(readonlyVars as Set<string>),
    localScopes: [],
    inCondition: false,
  });
}

/** Returns the variables that precede a command, such as `x=1 ./script`. */
function temporaryVariables({ env, tempExportedVars = new Set() }: State): [name: string, value: string][] {
  return [...tempExportedVars].map((name) => [name, env.get(name) ?? ""]);
}

/** Returns options with the depth of a shell that another shell starts. */
export function countShell(parent: State, options: ChildOptions): ChildOptions {
  const outer = options.env?.SHLVL ??
    (parent.exportedVars.has("SHLVL") ? parent.env.get("SHLVL") : undefined);
  return { ...options, env: { ...options.env, SHLVL: String((Number(outer) || 0) + 1) } };
}

/** Returns the state that a child process inherits: of the variables only the exported ones. */
export function childState(
  parent: State,
  pristine: State,
  { env: given = {}, replaceEnv }: ChildOptions,
): State {
  const initial = [...pristine.env].filter(([name]) => !pristine.exportedVars.has(name));
  const exported = [...parent.env].filter(([name]) => parent.exportedVars.has(name));
  const env = new Map([...initial, ...exported]);
  const functions = [...parent.functions].filter(([name]) => {
    return parent.exportedFunctions?.has(name) && (!replaceEnv || functionVariable(name) in given);
  });
  return {
    ...pristine,
    env,
    functions: new Map(functions),
    ...(parent.exportedFunctions && { exportedFunctions: new Set(functions.map(([name]) => name)) }),
    exportedVars: new Set([...parent.exportedVars, ...Object.keys(given).filter((name) => NAME.test(name))]),
    cwd: parent.cwd,
    previousDir: parent.previousDir,
  };
}
