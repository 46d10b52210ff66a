// Tests of commands on a copy of the project, which need a kernel, or a container, that allows
// mounting an overlay.
import { programs } from "../../kernel/system/other-programs.ts";
import { whyNoView } from "../../plugins/shell/try-copy.ts";
import { has, impossible, type Needed, needs, type Test } from "./needs.ts";
import { ROOT } from "./run.ts";

const whyNot = has("bwrap") && has("unshare") ? await whyNoView(programs(ROOT), ROOT) : undefined;
export const needsView = (...names: Needed[]): Test =>
  whyNot === undefined ? needs("bwrap", "git", "unshare", ...names) : impossible(whyNot);
export const viewTest: Test = needsView();
