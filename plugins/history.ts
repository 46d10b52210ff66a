// Ctrl+R: finds earlier input by any part of it. (Up and Down go through entries that begin like
// the line.)
import type { Zz } from "zz";

export default (zz: Zz) => {
  zz.key({
    name: "ctrl+r",
    description: "search what was typed before; again: an older one",
    async press(editedLine) {
      const { text, cursor, history } = editedLine;
      let searchText = "";
      for (let startIndex = 0; ; ) {
        const lowerSearch = searchText.toLowerCase();
        const matchIndex = history.findIndex(
          (earlierInput, i) => i >= startIndex && earlierInput.toLowerCase().includes(lowerSearch),
        );
        const matchingInput = searchText ? history[matchIndex] : undefined;
        editedLine.prompt(
          "search " +
            `'${searchText}'${searchText && matchingInput === undefined ? ", nothing" : ""} › `,
        );
        editedLine.set(
          matchingInput ?? text,
          matchingInput === undefined ? cursor : matchingInput.toLowerCase().indexOf(lowerSearch),
        );
        const pressedKey = await editedLine.next();
        const isTypedText =
          !/^(ctrl|meta)\+/.test(pressedKey.name) &&
          pressedKey.text >= " " &&
          pressedKey.text !== "\x7f";
        if (pressedKey.name === "ctrl+r")
          startIndex = matchingInput === undefined ? 0 : matchIndex + 1;
        else if (isTypedText)
          [searchText, startIndex] = [
            searchText + pressedKey.text.split("\n")[0],
            matchingInput === undefined ? 0 : matchIndex,
          ];
        else if (pressedKey.name === "backspace")
          [searchText, startIndex] = [searchText.slice(0, -1), 0];
        else {
          const leavesSearch = ["escape", "ctrl+g", "ctrl+c"].includes(pressedKey.name);
          editedLine.prompt();
          editedLine.set(leavesSearch ? text : (matchingInput ?? text));
          // Enter sends it, an arrow continues editing
          return leavesSearch ? undefined : editedLine.press(pressedKey);
        }
      }
    },
  });
};
