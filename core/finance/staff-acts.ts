import type { ClientBase, Pool, PoolClient } from 'pg'
import { type Actor, type AuditedChange, withAudit } from '../audit/record.ts'
import type { Clock } from '../clock.ts'
import { Fault } from '../errors.ts'
import type { PostingLedger } from '../ledger/in-transaction.ts'
import type { Decision } from '../ledger/reverse.ts'
import type { UsedValueDate } from '../ledger/value-date.ts'
import type { Micros } from '../money.ts'

/** A staff member with an account, who may decide about money. */
export type Staff = Actor & { readonly principal: string }

export interface FinanceDeps {
  readonly pool: Pool
  readonly ledger: PostingLedger
  readonly clock: Clock
  /** Total of one person's acts per UTC day without a second person, in microdollars. */
  readonly soloAdjustmentMax: Micros
}

export const ACT_KINDS = [
  'adjustment',
  'refund',
  'exception',
  'transfer',
  'provider',
  'write-off',
  'recovery',
  'period',
  'breakage',
  'revaluation',
] as const
export type ActKind = (typeof ACT_KINDS)[number]

/** Terms of an act as JSON; amounts and instants are text. */
export type ActTerms = Readonly<Record<string, string | number | readonly string[] | undefined>>

/** Act about money or rights, to be done or proposed. */
export interface ActOrder {
  readonly id: string
  readonly kind: ActKind
  /** Object of the act: a call, an exception, a transaction … */
  readonly subject: string
  readonly terms: ActTerms
  /** Accounts that it changes; people may not decide about their own. */
  readonly accounts: readonly string[]
  /** Principals that it favors. */
  readonly principals?: readonly string[]
  /** Counts against the daily limit of one person, in microdollars. */
  readonly exposure: bigint
}

/** Carries out an act. Returns the change for the audit log; undefined if it was done before. */
export type Execution = (
  client: PoolClient,
  decision: Decision,
) => Promise<AuditedChange | undefined>

/** Act of staff, done by one person or proposed, and its decision if there is one. */
export interface StaffAct {
  readonly id: string
  readonly kind: ActKind
  readonly subject: string
  readonly terms: ActTerms
  readonly accounts: readonly string[]
  readonly exposure: bigint
  readonly reason: string
  readonly proposedBy: string
  readonly proposedAt: Date
  readonly state: 'proposed' | 'booked' | 'declined'
  /** Null if it awaits a decision, or one person did it alone. */
  readonly decidedBy: string | null
  readonly decidedAt: Date | null
  readonly note: string | null
}

/** State of a submitted act: done, or awaiting a second person. */
export interface SubmittedAct {
  readonly id: string
  readonly state: StaffAct['state']
  /** Set if the act requested a value date. */
  readonly valueDate?: UsedValueDate
}

/** Transaction of an act, as `withAudit` opens it. */
export interface ActContext {
  readonly client: PoolClient
  readonly note: (change: AuditedChange) => void
  readonly by: Staff
  readonly reason: string
  readonly soloAdjustmentMax: Micros
}

/** Runs `work` as an audited act. */
export const withActContext = <T>(
  { pool, soloAdjustmentMax }: Pick<FinanceDeps, 'pool' | 'soloAdjustmentMax'>,
  by: Staff,
  reason: string,
  work: (context: ActContext) => Promise<T>,
): Promise<T> =>
  withAudit(pool, by, reason, (client, note) =>
    work({ client, note, by, reason, soloAdjustmentMax }),
  )

/**
 * Does an act. Proposes it instead if the person's acts of the day exceed the limit, or if its kind
 * always needs two people. A proposed act is tried and rolled back, so that an impossible one is
 * refused at once.
 * @throws Fault `own_account`; `not_booked` if a different act about the subject is pending
 */
export async function submitAct(
  { client, note, by, reason, soloAdjustmentMax }: ActContext,
  order: ActOrder,
  execute: Execution,
): Promise<SubmittedAct> {
  await assertNotOwn(client, by.principal, order)
  const { id, kind, subject, terms } = order
  const pending = await findPending(client, order)
  if (pending) return pending
  const isAlone =
    kind !== 'period' && !(await needsSecondPerson(client, by, order, soloAdjustmentMax))
  await client.query('SAVEPOINT act')
  const change = await execute(client, { author: by.name, reason })
  if (!change || !isAlone) await client.query('ROLLBACK TO SAVEPOINT act')
  if (!change) return { id, state: 'booked' }
  const state = isAlone ? 'booked' : 'proposed'
  await client.query('SELECT hub.open_act($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)', [
    id,
    kind,
    subject,
    JSON.stringify(terms),
    order.accounts,
    order.principals ?? [],
    order.exposure,
    soloAdjustmentMax,
    reason,
    by.name,
    by.principal,
    state,
  ])
  note(isAlone ? change : { act: 'entry.propose', subject: id, after: { kind, ...terms } })
  return { id, state }
}

/** Refuses acts about accounts and principals of the person itself. @throws Fault `own_account` */
export async function assertNotOwn(
  client: ClientBase,
  principal: string,
  { accounts, principals = [] }: Pick<ActOrder, 'accounts' | 'principals'>,
): Promise<void> {
  const { rows } = await client.query<{ own: string | null }>(
    'SELECT hub.own_subject($1, $2, $3) AS own',
    [principal, accounts, principals],
  )
  if (rows[0]!.own !== null) throw new Fault('own_account')
}

async function needsSecondPerson(
  client: ClientBase,
  { principal }: Staff,
  { kind, terms, exposure }: ActOrder,
  soloMax: Micros,
): Promise<boolean> {
  const { rows } = await client.query<{ needed: boolean }>(
    'SELECT hub.needs_second_person($1, $2, $3, $4, $5) AS needed',
    [principal, kind, JSON.stringify(terms), exposure, soloMax],
  )
  return rows[0]!.needed
}

/** Finds the same act if it is pending. @throws Fault `not_booked` if other terms are pending */
async function findPending(
  client: ClientBase,
  { kind, subject, terms }: ActOrder,
): Promise<SubmittedAct | undefined> {
  const { rows } = await client.query<{ id: string; same: boolean }>(
    `SELECT id, terms = $3 AS same FROM hub.staff_act
     WHERE kind = $1 AND subject = $2 AND state = 'proposed'`,
    [kind, subject, JSON.stringify(terms)],
  )
  const [found] = rows
  if (!found) return undefined
  if (found.same) return { id: found.id, state: 'proposed' }
  throw new Fault('not_booked', `Proposal ${found.id} about this is pending: decide it first.`)
}

const SELECT = `SELECT id, kind, subject, terms, accounts, exposure, reason,
  proposed_by AS "proposedBy", proposed_at AS "proposedAt", state, decided_by AS "decidedBy",
  decided_at AS "decidedAt", note FROM hub.staff_act`

export interface ActFilter {
  readonly kind?: ActKind | undefined
  /** `open`: pending. `proposed`: ever proposed. `all`: also those that one person did alone. */
  readonly state: 'open' | 'proposed' | 'all'
  readonly limit: number
  /** Id of the last act on the previous page. */
  readonly after?: string | undefined
}

/** Reads acts, the newest first. */
export async function listActs(pool: Pool, filter: ActFilter): Promise<readonly StaffAct[]> {
  const { rows } = await pool.query<StaffAct>(
    `${SELECT} WHERE ($1::uuid IS NULL OR id < $1) AND ($2::text IS NULL OR kind = $2)
       AND (CASE $3 WHEN 'open' THEN state = 'proposed'
         WHEN 'proposed' THEN state <> 'booked' OR decider IS NOT NULL ELSE true END)
     ORDER BY id DESC LIMIT $4`,
    [filter.after ?? null, filter.kind ?? null, filter.state, filter.limit],
  )
  return rows
}

export async function findAct(
  client: Pool | ClientBase,
  id: string,
): Promise<StaffAct | undefined> {
  const { rows } = await client.query<StaffAct>(`${SELECT} WHERE id = $1`, [id])
  return rows[0]
}
