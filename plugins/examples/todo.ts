// todo and /todo: a list for the model, so that it forgets nothing of a long task. An example of
// state that a session keeps.
import type { Zz } from "zz";

type Todo = { text: string; done: boolean };
const MAX_STEPS = 50;

export default (zz: Zz) => {
  // per conversation: it survives a restart, follows /back and /fork
  const kept = zz.state({ todos: [] as Todo[] });

  zz.tool({
    name: "todo",
    description:
      "Your list of steps for a task of several: set it, tick off what is done, add what turns up.",
    params: {
      set: "string[]? a new list instead of this one",
      add: "string[]?",
      done: "integer[]? numbers to tick off",
      undo: "integer[]? numbers to open again",
    },
    run(changes) {
      kept.todos = changed(kept.todos, changes);
      return { text: list(kept.todos) || "The list is empty.", data: kept.todos };
    },
    render: () => `${kept.todos.filter(({ done }) => done).length} of ${kept.todos.length} done`,
  });

  zz.layer({
    name: "todo",
    slot: "turn",
    text: () => (kept.todos.some(({ done }) => !done) ? list(kept.todos) : undefined),
  });

  zz.command({
    name: "todo",
    description: "the model's list of steps",
    examples: {
      "/todo add write the tests": "add a step",
      "/todo done 2": "tick off step 2",
      "/todo clear": "empty the list",
    },
    usage: "[add TEXT | done N | clear]",
    complete: () => ["add", "done", "clear"],
    run(argument, { note }) {
      const [, verb = "", operand = ""] = /^(\w*)\s*(.*)$/s.exec(argument)!;
      const todo = kept.todos[Number(operand) - 1];
      if (verb === "add" && operand) kept.todos.push({ text: operand, done: false });
      else if (verb === "done" && todo) todo.done = true;
      else if (verb === "clear") kept.todos = [];
      else if (argument)
        throw new Error(
          `Cannot do '/todo ${argument}': /todo add TEXT, /todo done NUMBER, /todo clear.`,
        );
      note(list(kept.todos) || "The list is empty.");
    },
  });
};

type Changes = { set?: string[]; add?: string[]; done?: number[]; undo?: number[] };
/** The list after what the model asked for. */
function changed(todos: Todo[], { set, add = [], done = [], undo = [] }: Changes): Todo[] {
  const newTexts = [...(set ?? []), ...add].map((text) => text.replace(/\s+/g, " ").trim());
  const next = [...(set ? [] : todos), ...newTexts.map((text) => ({ text, done: false }))];
  if (newTexts.includes("")) throw new Error("Cannot add an empty step. Say what is to be done.");
  if (next.length > MAX_STEPS)
    throw new Error(`Cannot keep ${next.length} steps: ${MAX_STEPS} is the limit. Combine some.`);
  for (const number of [...done, ...undo])
    if (!next[number - 1])
      throw new Error(`There is no step ${number}. ${list(next) || "The list is empty."}`);
  return next.map((todo, i) => ({
    ...todo,
    done: (todo.done || done.includes(i + 1)) && !undo.includes(i + 1),
  }));
}

const list = (todos: Todo[]): string =>
  todos.map(({ text, done }, i) => `${i + 1}. [${done ? "x" : " "}] ${text}`).join("\n");
