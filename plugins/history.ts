// Ctrl+R: finds earlier input by any part of it. (Up and Down go through entries that begin like
// the line.)
import type { Zz } from "zz";

export default (zz: Zz) => {
  zz.key({
    name: "ctrl+r",
    description: "search what was typed before; again: an older one",
    async press(line) {
      const { text, cursor, history } = line;
      let query = "";
      for (let index = 0; ; ) {
        const small = query.toLowerCase();
        const from = history.findIndex(
          (past, i) => i >= index && past.toLowerCase().includes(small),
        );
        const hit = query ? history[from] : undefined;
        line.prompt(`search '${query}'${query && hit === undefined ? ", nothing" : ""} › `);
        line.set(hit ?? text, hit === undefined ? cursor : hit.toLowerCase().indexOf(small));
        const key = await line.next();
        const types = !/^(ctrl|meta)\+/.test(key.name) && key.text >= " " && key.text !== "\x7f";
        if (key.name === "ctrl+r") index = hit === undefined ? 0 : from + 1;
        else if (types)
          [query, index] = [query + key.text.split("\n")[0], hit === undefined ? 0 : from];
        else if (key.name === "backspace") [query, index] = [query.slice(0, -1), 0];
        else {
          const back = key.name === "escape" || key.name === "ctrl+g" || key.name === "ctrl+c";
          line.prompt();
          line.set(back ? text : (hit ?? text));
          return back ? undefined : line.press(key); // Enter sends it, an arrow continues editing
        }
      }
    },
  });
};
