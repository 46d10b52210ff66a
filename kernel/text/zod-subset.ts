// What of zod settings are checked by, in a file of its own: the build leaves out the rest.
export { fromJSONSchema } from "zod";
