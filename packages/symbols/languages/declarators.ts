// The names in a declaration of C and C++, which stand in the middle of the type:
// `int *(*handlers[8])(void)`.
import type { Node } from "web-tree-sitter";

interface Declared {
  name: string;
  owner: string; // of `Unit::move` it is Unit
  at: number;
  isFunction: boolean;
}

export const declaredIn = (node: Node): Declared[] =>
  node
    .childrenForFieldName("declarator")
    .flatMap((declarator) => (declarator ? declaredBy(declarator) : []));

function declaredBy(startNode: Node): Declared[] {
  let isFunction = false;
  let owner = "";
  let node: Node | null = startNode;
  for (let depth = 0; node && depth < 30; depth++) {
    if (node.type === "structured_binding_declarator")
      return node.namedChildren.flatMap((declarator) => (declarator ? declaredBy(declarator) : []));
    if (node.type === "function_declarator") isFunction = true;
    if (node.type === "parenthesized_declarator") isFunction = false; // a pointer to one
    if (node.type === "qualified_identifier") {
      owner = (node.childForFieldName("scope")?.text ?? owner).replace(/<[\s\S]*$/, "");
      node = node.childForFieldName("name");
      continue;
    }
    const innerNode: Node | null = node.childForFieldName("declarator") ?? innerOf(node);
    if (!innerNode) break;
    node = innerNode;
  }
  return node && NAME_TYPES.has(node.type)
    ? [{ name: node.text, owner, at: node.startIndex, isFunction }]
    : [];
}

const NAME_TYPES = new Set([
  "identifier",
  "field_identifier",
  "type_identifier",
  "destructor_name",
  "operator_name",
  "operator_cast",
  "template_function",
]);
/** These have no field for what they wrap. */
const innerOf = ({ type, namedChildren }: Node) =>
  /^(?:parenthesized|reference|attributed)_declarator$/.test(type)
    ? (namedChildren.at(-1) ?? null)
    : null;
