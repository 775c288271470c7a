import type { Pool } from 'pg'
import { type Actor, withAudit } from '../audit/record.ts'
import { Fault } from '../errors.ts'
import type { Note } from '../ledger/checkpoint.ts'
import type { RetainedCheckpoints } from '../ledger/retained-checkpoints.ts'
import { readHeads } from '../ledger/shards.ts'
import { parseHeadsNote } from '../ledger/transparency/heads-note.ts'
import { HEADS } from '../ledger/transparency/signed-tree.ts'
import { StoredTree } from '../ledger/transparency/stored-tree.ts'
import { readLedgerId } from '../ledger/verify/checkpoints.ts'
import { verifyLedger } from '../ledger/verify.ts'
import { OutgoingSwitch } from '../payments/operations/outgoing-switch.ts'

/**
 * Accepts that the database was restored from a backup that lacks entries that the hub has signed:
 * moves the retained checkpoints of these entries away, so that verification passes again. The
 * content of the backup must be sound and agree with all other retained checkpoints. Pauses
 * outgoing payments.
 * @returns the checkpoints that were moved away
 * @throws Fault `not_booked` if nothing is ahead, or the ledger is not sound
 */
export async function acceptRestore(
  pool: Pool,
  retained: RetainedCheckpoints,
  by: Actor,
  reason: string,
): Promise<readonly Note[]> {
  const ledger = await readLedgerId(pool)
  const ends = await readEnds(pool)
  const isAhead = ({ shard, seq, audit }: Note): boolean =>
    seq > (ends.heads.get(shard) ?? 0n) || (audit?.lines ?? 0n) > ends.lines
  const notes = await retained.all(ledger)
  const ahead = notes.filter(isAhead)
  const stored = await retained.readHeads(ledger)
  const storedRoot = parseHeadsNote(stored ?? '')
  const size = await new StoredTree(pool, HEADS).size()
  const areHeadsAhead = storedRoot !== undefined && storedRoot.size > size
  if (ahead.length === 0 && !areHeadsAhead) {
    throw new Fault('not_booked', 'The database has all entries that the hub has signed.')
  }
  const checkpoints = notes.filter((note) => !isAhead(note)).map(({ note }) => note)
  if (stored !== undefined && !areHeadsAhead) checkpoints.push(stored)
  const keys = await retained.keys(ledger)
  const { ok, checks } = await verifyLedger(pool, { keys, checkpoints: checkpoints.join('\n') })
  if (!ok) {
    const failed = checks.filter(({ bad }) => bad > 0n).map(({ name }) => name)
    throw new Fault('not_booked', `The restored ledger is not sound: ${failed.join('; ')}.`)
  }
  await new OutgoingSwitch(pool).set(true, by.name, `A restored backup was accepted: ${reason}`)
  await withAudit(pool, by, reason, async (_, note) =>
    note({
      act: 'backup.accept',
      subject: ledger,
      before: { signed: ahead.map(describeNote) },
      after: { heads: [...ends.heads].map(([shard, seq]) => ({ shard, seq: String(seq) })) },
    }),
  )
  // The root first: shards that are ahead prevent new roots, and allow another try after a crash.
  if (areHeadsAhead) await retained.abandonHeads(ledger)
  await retained.abandon(ledger, ahead)
  return ahead
}

const describeNote = ({ shard, seq, at, audit }: Note) => ({
  shard,
  seq: String(seq),
  at,
  audit: String(audit?.lines ?? 0n),
})

/** Reads the last entry of each shard and the last line of the audit log. */
async function readEnds(pool: Pool) {
  const heads = await readHeads(pool)
  const { rows: audit } = await pool.query<{ lines: bigint }>(
    'SELECT coalesce(max(seq), 0) AS lines FROM hub.audit',
  )
  return { heads, lines: audit[0]!.lines }
}
