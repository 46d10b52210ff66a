// fast-check with the one seed of all tests.
import fc from "fast-check";
import { SEED } from "./runs.ts";

fc.configureGlobal({ seed: SEED });

export { fc };
