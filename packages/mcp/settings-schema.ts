// The settings of MCP servers.

/**
 * The settings that other programs use too, and zz's own: disabled, timeout, readOnly, sandbox and
 * oauth.
 */
export interface ServerConfig {
  command?: string;
  args?: string[];
  env?: Record<string, string>;
  cwd?: string;
  url?: string;
  headers?: Record<string, string>;
  disabled?: boolean;
  enabled?: boolean; // as other programs say it
  timeout?: number; // the limit of one call and of a start, in seconds
  disabledTools?: string[];
  readOnly?: "ask" | "believe"; // "believe": tools that it calls read-only run without a question
  sandbox?: boolean | { hosts?: string[]; write?: string[] };
  oauth?: { clientId?: string; clientSecret?: string; scope?: string };
}
const textList = { type: "array", items: { type: "string" } };
const textsByName = { type: "object", additionalProperties: { type: "string" } };
export const SCHEMA = {
  type: "object",
  description: "MCP servers: { name: { command } } or { name: { url } }",
  additionalProperties: {
    type: "object",
    additionalProperties: true, // what other programs have there: settings.ts knows it
    properties: {
      command: { type: "string", description: "the program that is the server" },
      args: { ...textList, description: "its arguments" },
      env: { ...textsByName, description: "variables that it gets" },
      cwd: { type: "string", description: "the folder that it is started in" },
      url: { type: "string", description: "where it is, instead of a program" },
      headers: { ...textsByName, description: "what goes with each request to it" },
      disabled: { type: "boolean", description: "it is left out" },
      timeout: {
        type: "number",
        exclusiveMinimum: 0,
        maximum: 86_400_000,
        description: "seconds that one call or a start may take; 10000 and more: milliseconds",
      },
      disabledTools: { ...textList, description: "tools that are left out" },
      readOnly: {
        enum: ["ask", "believe"],
        description: "believe: what it calls read-only runs without a question",
      },
      sandbox: {
        anyOf: [
          { type: "boolean" },
          {
            type: "object",
            properties: {
              hosts: { ...textList, description: "hosts that it may reach" },
              write: { ...textList, description: "folders that it may write to" },
            },
          },
        ],
        description: "what its program may do in the sandbox; false: it runs outside of it",
      },
      oauth: {
        type: "object",
        properties: {
          clientId: { type: "string", description: "of a client that is registered already" },
          clientSecret: { type: "string", description: "of that client" },
          scope: { type: "string", description: "what to ask for at the login" },
        },
        description: "for /mcp login, where the server does not register clients by itself",
      },
    },
  },
};
