// OpenAI's own clients, in one file of the bundle: loaded with the first request.
export { AzureOpenAI } from "openai/azure";
export { OpenAI } from "openai/client";
