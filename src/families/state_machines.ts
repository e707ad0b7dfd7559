import { ToolError } from "../errors.ts";
import { type Draw, until } from "./draw.ts";
import type { Family, ProblemCall, ProblemTool, ToolEpisode, ToolProblem, Verdict } from "./family.ts";

/** A hidden machine: the next state by state and button. */
interface Machine {
  readonly states: readonly string[];
  readonly buttons: readonly string[];
  readonly next: ReadonlyMap<string, string>;
  readonly start: string;
  readonly goal: string;
  /** Number of presses of an episode. */
  readonly presses: number;
}

const STATES = [
  ...[
    "amber",
    "basil",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "glade",
    "haven",
    "ivory",
    "jade",
    "karst",
    "lunar",
  ],
  ...[
    "maple",
    "north",
    "ocean",
    "pearl",
    "quartz",
    "river",
    "slate",
    "tundra",
    "umber",
    "vale",
    "willow",
    "yarrow",
  ],
  ...[
    "zephyr",
    "aspen",
    "birch",
    "coral",
    "dune",
    "elm",
    "fern",
    "grove",
    "heath",
    "iris",
    "juniper",
    "kelp",
  ],
];
const BUTTONS = ["A", "B", "C", "D", "E"];

const TOOLS: readonly ProblemTool[] = [
  {
    name: "press",
    description: "Presses a button of the machine and returns the new state.",
    parameters: {
      type: "object",
      properties: { button: { type: "string", description: "Name of the button." } },
      required: ["button"],
      additionalProperties: false,
    },
  },
  {
    name: "restart",
    description: "Puts the machine into the first state. This takes a press.",
    parameters: { type: "object", properties: {}, additionalProperties: false },
  },
];

/** Drive a hidden state machine into a state, by tools. Difficulty adds states and distance. */
export const stateMachines: Family = {
  about: "a hidden state machine that tools drive into a given state",
  version: 1,
  kind: "tools",
  tools: TOOLS,
  generate: (draw, difficulty) => until(() => attempt(draw, difficulty)),
};

function attempt(draw: Draw, difficulty: number): ToolProblem | undefined {
  const states = draw.sample(STATES, 16 + 2 * difficulty);
  const buttons = BUTTONS.slice(0, 2 + Math.floor(difficulty / 4));
  const pairs = states.flatMap((state) =>
    buttons.map((button) => [`${state} ${button}`, draw.pick(states)] as const)
  );
  const [start = "", goal = ""] = draw.sample(states, 2);
  const next = new Map(pairs);
  const path = shortestPresses({ buttons, next, start, goal });
  if (path === undefined || path.length < 3 + Math.floor(difficulty / 4)) return undefined;
  const presses = 4 * states.length;
  const machine: Machine = { states, buttons, next, start, goal, presses };
  return {
    kind: "tools",
    query:
      `A machine is in the state '${start}'. It has the buttons ${
        buttons.join(", ")
      }, and each press moves ` +
      `it to a state that depends on the state and the button only. Explore the machine with the tools, bring it ` +
      `into the state '${goal}', and reply without a call while it is there. ` +
      `You have ${presses} presses.${hints(draw, machine, difficulty)}`,
    solution: path.map((button) => press(button)),
    guess: (draw) => Array.from({ length: draw.int(1, presses) }, () => press(draw.pick(buttons))),
    open: () => Promise.resolve(new MachineEpisode(machine)),
  };
}

function press(button: string): ProblemCall {
  return { tool: "press", arguments: { button } };
}

/** States a part of the machine at low difficulties. */
function hints(draw: Draw, { next, states }: Machine, difficulty: number): string {
  const share = Math.max(0, 0.6 - 0.15 * difficulty);
  const known = [...next].filter(() => draw.chance(share));
  if (known.length === 0) return ` It has ${states.length} states.`;
  const lines = known.map(([from, to]) => {
    const [state, button] = from.split(" ");
    return `in '${state}', ${button} leads to '${to}'`;
  });
  return ` Some moves are known:\n${lines.join("\n")}`;
}

/** Returns the shortest list of buttons that leads to the goal; undefined if none does. */
function shortestPresses(
  { buttons, next, start, goal }: Pick<Machine, "buttons" | "next" | "start" | "goal">,
): string[] | undefined {
  const paths = new Map<string, string[]>([[start, []]]);
  for (const [state, path] of paths) {
    if (state === goal) return path;
    for (const button of buttons) {
      const target = next.get(`${state} ${button}`) ?? state;
      if (!paths.has(target)) paths.set(target, [...path, button]);
    }
  }
  return undefined;
}

class MachineEpisode implements ToolEpisode {
  readonly #machine: Machine;
  #state: string;
  #left: number;

  constructor(machine: Machine, state: string = machine.start, left: number = machine.presses) {
    this.#machine = machine;
    this.#state = state;
    this.#left = left;
  }

  call(name: string, args: Readonly<Record<string, unknown>>): Promise<string> {
    const { buttons, next, start } = this.#machine;
    const button = String(args.button);
    if (name === "press" && !buttons.includes(button)) {
      return Promise.reject(
        new ToolError(`The button must be one of ${buttons.join(", ")}: found '${button}'`),
      );
    }
    if (this.#left === 0) return Promise.reject(new ToolError("No presses are left"));
    this.#left--;
    this.#state = name === "restart" ? start : next.get(`${this.#state} ${button}`) ?? this.#state;
    return Promise.resolve(`state: ${this.#state}, presses left: ${this.#left}`);
  }

  check(): Promise<Verdict> {
    return Promise.resolve(this.#state === this.#machine.goal ? "right" : "wrong");
  }

  copy(): ToolEpisode {
    return new MachineEpisode(this.#machine, this.#state, this.#left);
  }
}
