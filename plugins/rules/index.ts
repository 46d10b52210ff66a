// Tells the model the rules of the home and of the project: AGENTS.md, or CLAUDE.md.
import type { Zz } from "zz";
import { stampOf } from "zz/text";
import { type Rendered, renderRules, repositoryOf, TOKEN_BUDGET } from "./read-agents-md.ts";

export default (zz: Zz) => {
  let lastRendered: Rendered | undefined;
  zz.layer({
    name: "rules",
    slot: "rules",
    budget: TOKEN_BUDGET,
    text(ctx) {
      const topFolder = repositoryOf(ctx.root);
      const isUnchanged =
        lastRendered?.top === topFolder &&
        [...lastRendered.stamps].every(
          ([stampedFile, stampBefore]) => stampOf(stampedFile) === stampBefore,
        );
      if (!isUnchanged) lastRendered = renderRules(topFolder, ctx);
      return lastRendered!.text;
    },
  });
};
