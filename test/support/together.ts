// Rows of a table that are asked in one go, since each start of what they ask costs more than the
// answer.

/** Checks all rows together; only if that fails each alone, so that the error names the row. */
export async function together<Row extends readonly [what: string, ...unknown[]]>(
  rows: readonly Row[],
  check: (rows: readonly Row[]) => Promise<void>,
): Promise<void> {
  try {
    await check(rows);
  } catch (error) {
    for (const row of rows)
      await check([row]).catch((cause: Error) => {
        throw new Error(`${row[0]}: ${cause.message}`, { cause });
      });
    throw error;
  }
}
