import type { ClientBase } from 'pg'
import { findPrincipalByName } from '../identity/roles.ts'
import { uuidv7 } from '../ids.ts'
import { earningsPrefix } from '../ledger/postings.ts'
import { assignOwner } from '../providers/providers.ts'
import {
  type ActTerms,
  type Execution,
  type FinanceDeps,
  type Staff,
  type SubmittedAct,
  submitAct,
  withActContext,
} from './staff-acts.ts'

/** Name of an owner, and whether the change awaits a second administrator. */
export interface OwnerChange extends Pick<SubmittedAct, 'state'> {
  /** Email or wallet address of the previous owner; null if there was none. */
  readonly before: string | null
  readonly after: string
}

/**
 * Assigns a plugin provider to an owner, or proposes it: what is owed to the provider counts
 * against the daily limit, because the owner receives it.
 * @throws Fault `not_found`, `owner_not_possible`, `own_account`
 */
export const submitOwner = (
  deps: Pick<FinanceDeps, 'pool' | 'clock' | 'soloAdjustmentMax'>,
  by: Staff,
  provider: string,
  name: string,
  reason: string,
): Promise<OwnerChange> =>
  withActContext(deps, by, reason, async (context) => {
    const { client } = context
    const owner = await findPrincipalByName(client, name)
    const after = name.toLowerCase()
    let before: string | null = null
    const order = {
      id: uuidv7(deps.clock.now().getTime()),
      kind: 'provider',
      subject: provider,
      terms: { provider, owner, name: after },
      accounts: [earningsPrefix(provider)],
      principals: [owner],
      exposure: await owedTo(client, provider),
    } as const
    const { state } = await submitAct(context, order, async (client) => {
      before = await assignOwner(client, provider, owner)
      return toChange(provider, before, after)
    })
    return { before, after, state }
  })

/** Execution of a proposed assignment. */
export const executeAssignment =
  ({ provider, owner, name }: ActTerms): Execution =>
  async (client) => {
    const before = await assignOwner(client, String(provider), String(owner))
    return toChange(String(provider), before, String(name))
  }

const toChange = (provider: string, before: string | null, after: string) =>
  before === after
    ? undefined
    : ({
        act: 'provider.assign',
        subject: provider,
        before: { owner: before },
        after: { owner: after },
      } as const)

/** Returns the amount owed to a provider over all of its services, in microdollars. */
async function owedTo(client: ClientBase, provider: string): Promise<bigint> {
  const { rows } = await client.query<{ owed: bigint }>(
    `SELECT greatest(coalesce(sum(b.balance), 0), 0)::bigint AS owed FROM ledger.account a
     JOIN ledger.balance b ON b.account = a.id
     WHERE a.code LIKE 'liabilities:providers:%' AND split_part(a.code, ':', 3) = $1`,
    [provider],
  )
  return rows[0]!.owed
}
