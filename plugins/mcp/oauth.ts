import type { Ctx } from "zz";
import { fault } from "zz/text";
import type { Hub, Server } from "./hub.ts";
export async function login(_hub: Hub, { name }: Server, _ctx: Ctx): Promise<string> {
  throw fault(`Cannot log in to '${name}'.`);
}
export const logout = login;
