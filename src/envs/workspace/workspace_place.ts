/** The home of an agent in its sandbox, apart from that of the interpreter. */
export const AGENT_HOME = "/home/agent";

/** Where an agent works: what a task's paths are relative to. */
export const WORKSPACE = `${AGENT_HOME}/workspace`;

/** Where the programs among an agent's commands lie. */
export const COMMANDS = `${AGENT_HOME}/commands`;
