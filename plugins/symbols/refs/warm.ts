// Work for idle time, so that the next answer is immediate.
import { getHeapStatistics } from "node:v8";
import { ts } from "ts-morph";
import { K } from "./compiler.ts";
import { tableOf } from "./documents.ts";
import { addAll, begin, grow, sliceOf } from "./programs.ts";
import { MAX_WHOLE_PROJECT_FILES, type Slice, type State } from "./state.ts";
import { tryTo } from "./words.ts";

const WARM_STEP_MS = 40; // ms

export function warm(state: State): boolean {
  if (!state.names.size || state.names.size > MAX_WHOLE_PROJECT_FILES) return false;
  begin(state);
  const slice = state.slices[0] ?? sliceOf(state, `${state.root}/index.ts`);
  const { program } = slice;
  addAll(state, slice);
  return grow(state, slice, [], false) !== program || warmTypes(state, slice, slice.program!);
}

/**
 * The types that a search for a property needs: those of what it is read from, and of what an object literal is made
 * for.
 */
function warmTypes(state: State, slice: Slice, program: ts.Program): boolean {
  const { used_heap_size, heap_size_limit } = getHeapStatistics();
  if (used_heap_size > (heap_size_limit * 2) / 3) return false;
  const checker = program.getTypeChecker();
  const until = performance.now() + WARM_STEP_MS;
  for (let node = slice.unwarmed.pop(); node; node = slice.unwarmed.pop()) {
    const next = node;
    ts.forEachChild(next, (child) => void slice.unwarmed.push(child));
    if (ts.isSourceFile(next)) tableOf(state, next);
    if (WARMED_KINDS.has(next.kind)) tryTo(() => touch(checker, next));
    if (performance.now() > until) return true;
  }
  return false;
}

function touch(checker: ts.TypeChecker, node: ts.Node): void {
  if (ts.isPropertyAccessExpression(node)) checker.getSymbolAtLocation(node.name);
  else if (ts.isObjectBindingPattern(node)) checker.getTypeAtLocation(node);
  else checker.getContextualType(node as ts.Expression);
}
const WARMED_KINDS = new Set([
  ...[K.PropertyAccessExpression, K.ObjectBindingPattern, K.ObjectLiteralExpression, K.JsxAttributes],
]);
