import type { ClientBase } from 'pg'
import { type Actor, withAudit } from '../audit/record.ts'
import { Fault } from '../errors.ts'
import { uuidv7 } from '../ids.ts'
import { closePeriod, NotClosable } from '../ledger/history/period.ts'
import { ledgerInTransaction } from '../ledger/in-transaction.ts'
import { reverseCall } from '../ledger/reverse.ts'
import type { Micros } from '../money.ts'
import { OutgoingSwitch } from '../payments/operations/outgoing-switch.ts'
import { findException } from '../reconciliation/exceptions.ts'
import { NotResolvable, type Resolution, resolveException } from '../reconciliation/resolve.ts'
import { findOwners } from './journal.ts'
import { isNewEntry, withFaults } from './posting-faults.ts'
import {
  type ActTerms,
  type Execution,
  type FinanceDeps,
  type Staff,
  type SubmittedAct,
  submitAct,
  withActContext,
} from './staff-acts.ts'

/**
 * Refunds a settled call once, in full or in part, or proposes it: see `submitAct`.
 * @param refunded @defaultValue the amount charged
 * @throws Fault `not_found`, `not_booked`, `own_account`
 */
export const refundCall = (
  deps: FinanceDeps,
  by: Staff,
  call: string,
  reason: string,
  refunded?: Micros,
): Promise<SubmittedAct> =>
  withActContext(deps, by, reason, async (context) => {
    const { code, payee, charged } = await findSettled(context.client, call)
    const amount = refunded ?? charged
    const order = {
      id: uuidv7(deps.clock.now().getTime()),
      kind: 'refund',
      subject: call,
      terms: { call, amount: String(amount), asset: 'USDC' },
      accounts: [code, payee],
      exposure: amount,
    } as const
    return submitAct(context, order, executeRefund(deps, order.terms))
  })

/** Execution of a refund. */
export const executeRefund =
  ({ ledger }: Pick<FinanceDeps, 'ledger'>, terms: ActTerms): Execution =>
  async (client, decision) => {
    const call = String(terms['call'])
    const refunded = BigInt(String(terms['amount'])) as Micros
    const { code, charged } = await findSettled(client, call)
    const poster = ledgerInTransaction(ledger, client)
    const hold = { call, owner: await poster.account(code) }
    const outcome = await withFaults(() => reverseCall(client, poster, hold, decision, refunded))
    if (!isNewEntry(outcome)) return undefined
    return { act: 'call.refund', subject: call, before: { charged }, after: { refunded } }
  }

interface SettledCall {
  /** Account that paid. */
  readonly code: string
  readonly payee: string
  readonly charged: Micros
}

/** @throws Fault `not_found` */
async function findSettled(client: ClientBase, call: string): Promise<SettledCall> {
  const { rows } = await client.query<SettledCall>(
    `SELECT a.code, p.code AS payee, j.amount AS charged FROM ledger.journal j
     JOIN ledger.account a ON a.id = j.owner JOIN ledger.account p ON p.id = j.payee
     WHERE j.owner = ANY ($1) AND j.id = $2 AND j.phase = 2 AND j.kind = 2`,
    [await findOwners(client, call), call],
  )
  if (!rows[0]) throw new Fault('not_found', 'No charged call has this id.')
  return rows[0]
}

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

/**
 * Resolves a chain difference, or proposes it: see `submitAct`.
 * @throws Fault `not_found`, `not_resolvable`, `own_account`
 */
export const decideException = (
  deps: FinanceDeps,
  by: Staff,
  id: bigint,
  resolution: Resolution,
  reason: string,
): Promise<SubmittedAct> =>
  withActContext(deps, by, reason, async (context) => {
    const together = resolution.decision === 'explained' ? (resolution.together ?? []) : []
    const credits = resolution.decision === 'identified' ? resolution.credits : undefined
    const order = {
      id: uuidv7(deps.clock.now().getTime()),
      kind: 'exception',
      subject: String(id),
      terms: {
        exception: String(id),
        decision: resolution.decision,
        credits,
        together: together.map(String),
      },
      accounts: credits === undefined ? [] : [credits],
      exposure: await sumExceptions(context.client, [id, ...together]),
    } as const
    return submitAct(context, order, executeResolution(deps, order.terms))
  })

/** Execution of a resolution. */
export const executeResolution =
  ({ ledger }: Pick<FinanceDeps, 'ledger'>, terms: ActTerms): Execution =>
  async (client, decision) => {
    const id = BigInt(String(terms['exception']))
    const resolution = toResolution(terms)
    const before = await findException(client, id)
    if (!before) throw new Fault('not_found', 'There is no such exception.')
    const deps = { client, ledger: ledgerInTransaction(ledger, client) }
    try {
      if ((await resolveException(deps, id, resolution, decision)) === 'replayed') return undefined
    } catch (error) {
      if (!(error instanceof NotResolvable)) throw error
      throw new Fault('not_resolvable', error.message, { cause: error })
    }
    const { wallet, kind, amount, tx } = before
    return {
      act: 'exception.resolve',
      subject: String(id),
      before: { wallet, kind, amount, tx },
      after: resolution,
    }
  }

function toResolution({ decision, credits, together }: ActTerms): Resolution {
  if (decision === 'identified') return { decision, credits: String(credits) }
  if (decision === 'explained') {
    return { decision, together: Array.isArray(together) ? together.map(BigInt) : [] }
  }
  return { decision: decision === 'surplus' ? 'surplus' : 'shortfall' }
}

/** Largest amount of these exceptions in one direction: those that cancel out count once. */
async function sumExceptions(client: ClientBase, ids: readonly bigint[]): Promise<bigint> {
  const { rows } = await client.query<{ sum: bigint }>(
    `SELECT greatest(coalesce(sum(amount) FILTER (WHERE amount > 0), 0),
       -coalesce(sum(amount) FILTER (WHERE amount < 0), 0))::bigint AS sum
     FROM hub.reconciliation_exception WHERE id = ANY ($1)`,
    [ids],
  )
  return rows[0]!.sum
}

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
