import type { ClientBase } from 'pg'
import { type Actor, withAudit } from '../audit/record.ts'
import { Fault } from '../errors.ts'
import { uuidv7 } from '../ids.ts'
import { ledgerInTransaction } from '../ledger/in-transaction.ts'
import { OutgoingSwitch } from '../payments/operations/outgoing-switch.ts'
import { findException } from '../reconciliation/exceptions.ts'
import { NotResolvable, type Resolution, resolveException } from '../reconciliation/resolve.ts'
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
