// Models by task, if the settings name them: `models.code` answers prompt files whose front matter
// says `task: code`, and `models.title` gives a conversation its title after the first answer.
import type { Ctx, Zz } from "zz";
import { clip, oneLine, ownValue, sentenceOf, wordsOf } from "zz/text";

const MAX_TITLE_COLUMNS = 60;
const MAX_TITLE_MS = 20_000;
const SYSTEM =
  "You give a conversation its title: at most eight words that say what it is about, " +
  "in its own language. Answer with the title alone.";

export default (zz: Zz) => {
  let model: string | undefined; // answers the turn under way
  let isConversation = false; // whether it is a conversation, not a single answer
  zz.on("started", (startFact) => void (isConversation = startFact.stays));
  zz.wrap(
    "line",
    (typedLine, nextLine, ctx) => {
      const lineTask = taskOfLine(typedLine, ctx);
      model = lineTask && modelFor(lineTask, ctx);
      if (model && model !== ctx.chat.model)
        ctx.note(`${model} answers this: models.${lineTask} in the settings.`);
      return nextLine(typedLine);
    },
    "first",
  );
  zz.wrap(
    "request",
    (request, nextRequest) =>
      nextRequest(request.task === "chat" && model ? { ...request, model } : request),
    "first",
  );
  zz.on("answered", (_, ctx) => (isConversation ? giveTitle(ctx) : undefined), {
    limit: MAX_TITLE_MS,
  });
};

/** The task that a prompt file names. */
function taskOfLine(typedLine: string, { about }: Ctx): string | undefined {
  const [, commandName] = /^\/([\w-]+)/.exec(typedLine) ?? [];
  return (
    commandName &&
    about.commands.find((command) => command.name === commandName)?.template?.head.task
  );
}

function modelFor(task: string, { settings }: Ctx): string | undefined {
  const modelsByTask = settings.list().find(({ name }) => name === "models")?.value as
    | Record<string, string>
    | undefined;
  return ownValue(modelsByTask, task);
}

/**
 * Gives a title after the first answer. If that fails, the title stays the beginning of the first
 * message.
 */
async function giveTitle(ctx: Ctx): Promise<void> {
  const { chat, sessions, progress } = ctx;
  const { id, messages } = chat;
  const userMessages = messages.filter((message) => message.role === "user" && !message.aside);
  if (!id || userMessages.length !== 1 || !modelFor("title", ctx)) return;
  const text =
    `${wordsOf(userMessages[0]!.text).slice(0, 2_000)}\n\n` + messages.at(-1)!.text.slice(0, 2_000);
  try {
    const reply = await ctx.request({
      task: "title",
      system: SYSTEM,
      messages: [{ role: "user", text }],
    });
    const titleText = oneLine(reply.text).replace(/^["'“]+|["'”.]+$/g, "");
    if (titleText && chat.id === id) sessions.rename(id, clip(titleText, MAX_TITLE_COLUMNS));
  } catch (error) {
    ctx.note(`The conversation keeps its title: ${sentenceOf(error)}`);
  } finally {
    progress("");
  }
}
