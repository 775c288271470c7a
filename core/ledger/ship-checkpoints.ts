import type { Log } from '../log.ts'
import type { Note } from './checkpoint.ts'
import type { RetainedCheckpoints } from './retained-checkpoints.ts'

/** A place outside the hub that stores checkpoints. */
export interface CheckpointDestination {
  readonly name: 'bucket' | 'webhook' | 'mailbox'
  /** True if one checkpoint of each shard and day is enough, as for a mailbox. */
  readonly daily?: boolean
  /** @throws Error if they were not stored; they are sent again */
  send(notes: readonly Note[]): Promise<void>
  readonly close?: () => Promise<void>
}

/** Sends the newest retained checkpoints to each destination that does not have them yet. */
export async function shipCheckpoints(
  { retained, log }: { readonly retained: RetainedCheckpoints; readonly log: Log },
  ledger: string,
  destinations: readonly CheckpointDestination[],
): Promise<void> {
  const notes = await retained.newest(ledger)
  if (notes.length === 0) return
  const text = notes.map(({ note }) => note).join('\n')
  const day = lastDay(notes)
  for (const destination of destinations) {
    const shipped = await retained.shipped(ledger, destination.name)
    if (shipped?.text === text || (destination.daily && shipped?.day === day)) continue
    try {
      await destination.send(notes)
      await retained.recordShipped(ledger, destination.name, { day, text })
    } catch (err) {
      log.error({ err, destination: destination.name }, 'failed to ship checkpoints; trying again')
    }
  }
}

const lastDay = (notes: readonly Note[]): string =>
  notes.map(({ at }) => at.slice(0, 10)).reduce((max, day) => (day > max ? day : max))
