// names: how a file's name is shown.
import { clean } from "zz/text";

/** A name, or a sentence with names, as one line in which every character shows: no name forges another line. */
export const visible = (text: string): string => clean(text).replaceAll("\n", "␊");
