import type { ClientBase } from 'pg'
import { Fault } from '../errors.ts'
import { uuidv7 } from '../ids.ts'
import { type Adjustment, adjust, claimEntryId, findOwner } from '../ledger/adjust.ts'
import type { Asset } from '../ledger/events.ts'
import { ledgerInTransaction } from '../ledger/in-transaction.ts'
import { earningsPrefix } from '../ledger/postings.ts'
import { readUsedValueDate } from '../ledger/value-date.ts'
import { isNewEntry, withFaults } from './posting-faults.ts'
import {
  type ActTerms,
  type Execution,
  type FinanceDeps,
  findAct,
  type Staff,
  type SubmittedAct,
  submitAct,
  withActContext,
} from './staff-acts.ts'

/**
 * Posts a correction, or proposes it: see `submitAct`.
 * @throws Fault `not_booked`, `own_account`, `idempotency_key_reused`
 */
export const submitAdjustment = (
  deps: FinanceDeps,
  by: Staff,
  adjustment: Adjustment,
  reason: string,
  key?: string,
): Promise<SubmittedAct> =>
  withActContext(deps, by, reason, async (context) => {
    const { client } = context
    const ledger = ledgerInTransaction(deps.ledger, client)
    const { asset } = await withFaults(() => findOwner(client, ledger, adjustment))
    const newId = uuidv7(deps.clock.now().getTime())
    const id = await claimEntryId(client, ledger, adjustment, asset, { id: newId, key })
    if (id === undefined) throw new Fault('idempotency_key_reused')
    const known = key === undefined ? undefined : await findAct(client, id)
    if (known) return withValueDate(client, { id, state: known.state }, known.terms)
    const order = {
      id,
      kind: 'adjustment',
      subject: id,
      terms: toTerms(adjustment, asset),
      accounts: accountsOf(adjustment),
      exposure: asset === 'USDC' ? adjustment.amount : 0n,
    } as const
    const submitted = await submitAct(context, order, executeAdjustment(deps, id, order.terms))
    return withValueDate(client, submitted, order.terms)
  })

/** Adds the value date that the entry of an act has, if the act requested one. */
export async function withValueDate(
  client: ClientBase,
  act: SubmittedAct,
  { valueDate }: ActTerms,
): Promise<SubmittedAct> {
  if (valueDate === undefined) return act
  const requested = new Date(String(valueDate))
  return { ...act, valueDate: await readUsedValueDate(client, act.id, requested) }
}

/** Execution of an adjustment as one entry with the id of the act. */
export const executeAdjustment =
  ({ ledger }: Pick<FinanceDeps, 'ledger'>, id: string, terms: ActTerms): Execution =>
  async (client, decision) => {
    const poster = ledgerInTransaction(ledger, client)
    const order = toAdjustment(terms)
    const outcome = await withFaults(() => adjust(client, poster, order, decision, { id }))
    return isNewEntry(outcome) ? { act: 'entry.adjust', subject: id, after: terms } : undefined
  }

/** Accounts that it changes, those of the debtor included. */
const accountsOf = ({ debit, credit, provider }: Adjustment): readonly string[] =>
  provider === undefined ? [debit, credit] : [debit, credit, earningsPrefix(provider)]

const toTerms = (
  { debit, credit, amount, shard, valueDate, provider, transaction }: Adjustment,
  asset: Asset,
): ActTerms => ({
  debit,
  credit,
  amount: String(amount),
  shard,
  valueDate: valueDate?.toISOString(),
  provider,
  transaction,
  asset,
})

const toAdjustment = ({
  debit,
  credit,
  amount,
  shard,
  valueDate,
  provider,
  transaction,
}: ActTerms): Adjustment => ({
  debit: String(debit),
  credit: String(credit),
  amount: BigInt(String(amount)),
  shard: shard === undefined ? undefined : Number(shard),
  valueDate: valueDate === undefined ? undefined : new Date(String(valueDate)),
  provider: provider === undefined ? undefined : String(provider),
  transaction: transaction === undefined ? undefined : String(transaction),
})
