import { isPermanent } from './retry.ts'

/** Item of a batch, and the functions that its caller waits for. */
export interface BatchItem<Result> {
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * Runs a batch and passes each item its result. If the database rejects it with an error, runs its
 * halves instead, so that an item with an error fails on its own.
 */
export async function runBatch<Item, Result>(
  batch: readonly (Item & BatchItem<Result>)[],
  run: (batch: readonly Item[]) => Promise<readonly Result[]>,
): Promise<void> {
  try {
    const results = await run(batch)
    batch.forEach(({ resolve }, i) => resolve(results[i]!))
  } catch (error) {
    if (batch.length === 1 || !isPermanent(error)) {
      for (const { reject } of batch) reject(error)
      return
    }
    const half = batch.length >> 1
    await runBatch(batch.slice(0, half), run)
    await runBatch(batch.slice(half), run)
  }
}
