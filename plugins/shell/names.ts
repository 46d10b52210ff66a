// names: how a file's name is shown.
export { visible } from "zz/text";
