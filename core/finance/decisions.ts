import { type Actor, withAudit } from '../audit/record.ts'
import { Fault } from '../errors.ts'
import { closePeriod, NotClosable } from '../ledger/history/period.ts'
import { ledgerInTransaction } from '../ledger/in-transaction.ts'
import { reverseCall } from '../ledger/reverse.ts'
import type { Micros } from '../money.ts'
import { OutgoingSwitch } from '../payments/operations/outgoing-switch.ts'
import { findException } from '../reconciliation/exceptions.ts'
import { NotResolvable, type Resolution, resolveException } from '../reconciliation/resolve.ts'
import { type FinanceDeps, isNewEntry, type Staff, withFaults } from './adjustments.ts'
import { findOwners } from './journal.ts'

/**
 * Refunds a settled call once, in full or in part.
 * @param refunded @defaultValue the amount charged
 * @throws Fault `not_found`, `not_booked`
 */
export const refundCall = (
  { pool, ledger }: FinanceDeps,
  by: Staff,
  call: string,
  reason: string,
  refunded?: Micros,
): Promise<void> =>
  withAudit(pool, by, reason, async (client, note) => {
    const { rows } = await client.query<{ code: string; amount: Micros }>(
      `SELECT a.code, j.amount FROM ledger.journal j JOIN ledger.account a ON a.id = j.owner
       WHERE j.owner = ANY ($1) AND j.id = $2 AND j.phase = 2 AND j.kind = 2`,
      [await findOwners(client, call), call],
    )
    const [settled] = rows
    if (!settled) throw new Fault('not_found', 'No charged call has this id.')
    const poster = ledgerInTransaction(ledger, client)
    const hold = { call, owner: await poster.account(settled.code) }
    const decision = { author: by.name, reason }
    const outcome = await withFaults(() => reverseCall(client, poster, hold, decision, refunded))
    if (!isNewEntry(outcome)) return
    note({
      act: 'call.refund',
      subject: call,
      before: { charged: settled.amount },
      after: { refunded: refunded ?? settled.amount },
    })
  })

/** Closes a month and all before. @returns those closed now. @throws Fault `not_closable` */
export const closeMonth = (
  { pool }: Pick<FinanceDeps, 'pool'>,
  by: Staff,
  month: string,
  reason: string,
): Promise<readonly string[]> =>
  withAudit(pool, by, reason, async (client, note) => {
    try {
      const closed = await closePeriod(client, month, by.name)
      if (closed.length > 0) note({ act: 'period.close', subject: month, after: { closed } })
      return closed
    } catch (error) {
      if (!(error instanceof NotClosable)) throw error
      throw new Fault('not_closable', `${error.message}.`, { cause: error })
    }
  })

/** Resolves a chain difference. @throws Fault `not_found`, `not_resolvable` */
export const decideException = (
  { pool, ledger }: FinanceDeps,
  by: Staff,
  id: bigint,
  resolution: Resolution,
  reason: string,
): Promise<void> =>
  withAudit(pool, by, reason, async (client, note) => {
    const before = await findException(client, id)
    if (!before) throw new Fault('not_found', 'There is no such exception.')
    const deps = { client, ledger: ledgerInTransaction(ledger, client) }
    const decision = { author: by.name, reason }
    try {
      if ((await resolveException(deps, id, resolution, decision)) === 'replayed') return
    } catch (error) {
      if (!(error instanceof NotResolvable)) throw error
      throw new Fault('not_resolvable', error.message, { cause: error })
    }
    const { wallet, kind, amount, tx } = before
    note({
      act: 'exception.resolve',
      subject: String(id),
      before: { wallet, kind, amount, tx },
      after: resolution,
    })
  })

/** Pauses or resumes payments to sellers on all processes. */
export const setOutgoingPaused = (
  { pool }: Pick<FinanceDeps, 'pool'>,
  by: Actor,
  paused: boolean,
  reason: string,
): Promise<void> =>
  withAudit(pool, by, reason, async (client, note) => {
    const outgoing = new OutgoingSwitch(client)
    const before = await outgoing.state()
    await outgoing.set(paused, by.name, reason)
    note({
      act: paused ? 'outgoing.pause' : 'outgoing.resume',
      subject: 'outgoing',
      before: { paused: before?.paused ?? false },
      after: { paused },
    })
  })
