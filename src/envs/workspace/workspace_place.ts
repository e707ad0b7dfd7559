/** Home folder of an agent in its sandbox. It is not the interpreter's home. */
export const AGENT_HOME = "/home/agent";

/** Working folder of an agent. A task's paths are relative to it. */
export const WORKSPACE_FOLDER = `${AGENT_HOME}/workspace`;

/** Folder of an agent's command programs. */
export const COMMANDS_FOLDER = `${AGENT_HOME}/commands`;
