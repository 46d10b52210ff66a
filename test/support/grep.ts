// grep as the program calls it that people install, in one process: `node grep.ts ROOT HOME RIPGREP ARGS RUNS` prints what it
// answered and how long each call took. By itself, so that one way's memory makes no program start more slowly for the other.

/** The time is that of the `called` event. */
export async function grepper(root: string, home: string, ripgrep: string) {
  const { embed } = await import("../../zz.ts");
  let ms = 0;
  const settings = { search: { ripgrep } };
  const on = { called: (fact: { ms: number }) => void (ms = fact.ms) };
  const zz = await embed({ root, home, save: false, settings, on });
  return async (given: object): Promise<{ ms: number; text: string }> => {
    const { text } = await zz.call("grep", given);
    return { ms, text };
  };
}

if (import.meta.main) {
  const [root = "", home = "", ripgrep = "", args = "", runs] = process.argv.slice(2);
  const grep = await grepper(root, home, ripgrep);
  const times: number[] = [];
  let said = "";
  for (let i = 0; i < Number(runs); i++) {
    const { ms, text } = await grep(JSON.parse(args));
    times.push(ms);
    said = text;
  }
  process.stdout.write(JSON.stringify({ times, text: said }), () => process.exit());
}
