// What the build gives MCP's client and server instead of their checker of JSON Schema: see esbuild.config.js.
import process from "node:process";

export { process };
export const CORS_IS_POSSIBLE = false;
export class DefaultJsonSchemaValidator {
  getValidator() {
    return (data: unknown) => ({ valid: true, data, errorMessage: undefined });
  }
}
