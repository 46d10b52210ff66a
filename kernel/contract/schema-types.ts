// Schemas of arguments and settings, and the types that they stand for.
import type { Static, TSchema } from "typebox";
import type { Awaitable } from "./io-types.ts";

/**
 * zod (or any Standard Schema), typebox, JSON Schema, or the shorthand { path: "string", lines:
 * "number? how many" }.
 */
export type Schema = StandardSchema | TSchema | Shorthand;
export interface StandardSchema {
  readonly "~standard": {
    validate(value: unknown): Awaitable<{ value: unknown } | { issues: readonly SchemaIssue[] }>;
    types?: { input: unknown; output: unknown } | undefined;
    jsonSchema?: { input(options: { target: string }): Record<string, unknown> };
  };
}
export type SchemaIssue = { message: string; path?: readonly unknown[] | undefined };
export type Shorthand = { readonly [param: string]: string };
/** The type of arguments that a schema accepts. */
export type Infer<S> = S extends { readonly "~standard": { types?: infer T } }
  ? Output<NonNullable<T>>
  : S extends Shorthand
    ? { [K in Exclude<keyof S, Loose<S>>]: Value<S[K]> } & { [K in Loose<S>]?: Value<S[K]> }
    : S extends TSchema
      ? Static<S>
      : any;
type Output<T> = T extends { output: infer O } ? O : any;
type Head<T> = T extends `${infer H} ${string}` ? H : T;
type Loose<S> = { [K in keyof S]: Head<S[K]> extends `${string}?` ? K : never }[keyof S];
type Value<T> = Head<T> extends `${infer B}?` ? Word<B> : Word<Head<T>>;
type Word<T> = T extends `${infer One}[]`
  ? Word<One>[]
  : T extends keyof Words
    ? Words[T]
    : unknown;
type Words = { string: string; number: number; integer: number; boolean: boolean };
