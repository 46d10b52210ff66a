// node:test's own report, with one line before its figures for each thing whose absence kept tests
// from running.
import { Readable } from "node:stream";
import type { TestEvent } from "node:test/reporters";
import { spec } from "node:test/reporters";

const MISSING = /(of|in|beside) .* did not run: .*/;

export default async function* (source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  yield* Readable.from(withMissing(source)).compose(new spec()) as AsyncIterable<string>;
}

async function* withMissing(source: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  const counts = new Map<string, number>();
  for await (const event of source) {
    const why = whyMissing(event);
    if (why !== undefined) counts.set(why, (counts.get(why) ?? 0) + 1);
    if (
      event.type === "test:diagnostic" &&
      event.data.nesting === 0 &&
      /^tests \d+$/.test(event.data.message)
    ) {
      for (const [why, count] of counts)
        yield {
          ...event,
          data: { ...event.data, message: `${count} ${count === 1 ? "test" : "tests"} ${why}` },
        };
      counts.clear();
    }
    yield event;
  }
}

/** The reason that `needs()` gave for a test that was skipped, or that failed for it on CI. */
function whyMissing({ type, data }: TestEvent): string | undefined {
  const cause = type === "test:fail" ? data.details.error.cause : undefined;
  const said = type === "test:pass" ? data.skip : cause;
  return MISSING.exec(said instanceof Error ? said.message : String(said))?.[0];
}
