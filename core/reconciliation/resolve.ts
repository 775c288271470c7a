import type { PoolClient } from 'pg'
import { derivedUuid } from '../ids.ts'
import type { Account, SingleStepEvent, Wallet } from '../ledger/events.ts'
import type { PostingLedger } from '../ledger/in-transaction.ts'
import type { AccountRef } from '../ledger/ledger.ts'
import { walletOf } from '../ledger/postings.ts'
import type { Decision } from '../ledger/reverse.ts'
import { type Micros, priceTag } from '../money.ts'
import { findException, type ReconciliationException } from './exceptions.ts'
import { lockReconciliation } from './range.ts'
import { partsOfWallet } from './wallets.ts'

export type Resolution =
  /** The chain has more: posted to suspense until the deposit is identified. */
  | { readonly decision: 'surplus' }
  /** The chain has less: posted as an expense of the platform. */
  | { readonly decision: 'shortfall' }
  /** The chain has more: posted to the credits of a key, also after `surplus`. */
  | { readonly decision: 'identified'; readonly credits: Account }
  /** Nothing to post: the exceptions `id` and `together` cancel each other out. */
  | { readonly decision: 'explained'; readonly together?: readonly bigint[] }

/** The exception cannot be resolved in this way; the message says why. */
export class NotResolvable extends Error {
  override readonly name = 'NotResolvable'
}

/**
 * Resolves an exception, with author and reason: posts an entry that makes ledger and chain agree,
 * and closes the exception. Atomic if `ledger` posts in the transaction of `client`. Otherwise the
 * id of the entry is derived from the exception: after a crash, repeating the decision continues
 * it, and the next run closes the exception.
 * @returns `replayed` if it was resolved in the same way before
 * @throws NotResolvable
 */
export async function resolveException(
  deps: ResolveDeps,
  id: bigint,
  resolution: Resolution,
  decision: Decision,
): Promise<'resolved' | 'replayed'> {
  if (decision.author.trim() === '' || decision.reason.trim() === '') {
    throw new NotResolvable('A resolution needs an author and a reason.')
  }
  const { client } = deps
  // A concurrent run must not close the exception while its entry is being posted.
  await lockReconciliation(client)
  const exception = await findException(client, id)
  if (!exception) throw new NotResolvable(`There is no exception ${id}.`)
  if (resolution.decision === 'explained') {
    return closeExplained(client, [id, ...(resolution.together ?? [])], decision)
  }
  return postResolution(deps, exception, resolution, decision)
}

type PostedResolution = Exclude<Resolution, { decision: 'explained' }>

interface ResolveDeps {
  readonly client: PoolClient
  readonly ledger: PostingLedger
}

async function postResolution(
  deps: ResolveDeps,
  exception: ReconciliationException,
  resolution: PostedResolution,
  decision: Decision,
): Promise<'resolved' | 'replayed'> {
  const isSurplus = resolution.decision !== 'shortfall'
  if (exception.amount === 0n || exception.amount > 0n !== isSurplus) {
    throw new NotResolvable(
      `Exception ${exception.id} (chain minus ledger: ${priceTag(exception.amount)}) cannot be ` +
        `resolved as ${resolution.decision}.`,
    )
  }
  const isPosted = exception.resolution === 'booked'
  if (exception.resolution !== null && !isPosted) throw new NotResolvable(closedText(exception))
  const entry = entryOf(exception, isSurplus ? 'surplus.found' : 'shortfall.found')
  const shard = await findShard(deps, exception.answer ?? entry.id, resolution)
  if (!isPosted) {
    const event = await resolvingEvent(deps, exception)
    const owner = { ...(await deps.ledger.account(walletOf(event.wallet, event.network))), shard }
    await post(deps, event, owner, entry, decision)
    await closePosted(deps.client, exception.id, decision, owner.id, entry.id)
  }
  if (resolution.decision !== 'identified') return isPosted ? 'replayed' : 'resolved'
  const outcome = await creditKey(deps, exception, resolution.credits, shard, decision)
  return isPosted && outcome === 'replayed' ? 'replayed' : 'resolved'
}

const closedText = ({ id, resolution, explanation }: ReconciliationException): string =>
  `Exception ${id} is already closed (${resolution}): ${explanation}`

/** Returns id and metadata of the entry that an event of this type gets for an exception. */
const entryOf = ({ id, foundAt, tx }: ReconciliationException, event: SingleStepEvent['type']) => ({
  id: derivedUuid(foundAt, `reconciliation exception ${id} ${event}`),
  meta: { exception: String(id), ...(tx === null ? {} : { tx }) },
})

/** Returns the shard where the entry is posted or will be: for `identified`, that of the key. */
async function findShard(
  { client, ledger }: ResolveDeps,
  id: string,
  resolution: PostedResolution,
): Promise<number> {
  const posted = await postedShard(client, id)
  if (posted !== undefined) return posted
  if (resolution.decision !== 'identified') return 0
  return (await findCredits(ledger, resolution.credits)).shard
}

/** Returns the shard where an entry was posted; undefined if it was not. */
async function postedShard(client: PoolClient, id: string): Promise<number | undefined> {
  const { rows } = await client.query<{ shard: number }>(
    `SELECT j.shard FROM (SELECT array_agg(a.id) AS owners FROM ledger.account a
       WHERE a.code LIKE 'assets:usdc:%' OR a.code = 'liabilities:suspense') w
     CROSS JOIN LATERAL
       ledger.entries_of(w.owners, array_fill($1::uuid, ARRAY[cardinality(w.owners)])) j
     WHERE j.phase = 0`,
    [id],
  )
  return rows[0]?.shard
}

/** @throws NotResolvable if there is no such account */
const findCredits = (ledger: PostingLedger, credits: Account): Promise<AccountRef> =>
  ledger.account(credits).catch((cause: unknown) => {
    throw new NotResolvable(`There is no account ${credits}.`, { cause })
  })

/** Returns the resolving event; a shortfall still in transit is taken from the transit account. */
async function resolvingEvent({ client }: ResolveDeps, exception: ReconciliationException) {
  const isSurplus = exception.amount > 0n
  const amount = (isSurplus ? exception.amount : -exception.amount) as Micros
  const { wallet: name, network } = partsOfWallet(exception.wallet)
  if (isSurplus) return { type: 'surplus.found', wallet: name, amount, network } as const
  const { rows } = await client.query<{ in_transit: boolean }>(
    `SELECT e.transit >= $2 AS in_transit FROM hub.reconciliation_exception x
     JOIN hub.wallet_entry e ON e.id = x.entry WHERE x.id = $1`,
    [exception.id, amount],
  )
  const wallet: Wallet = rows[0]?.in_transit ? 'in-transit' : name
  return { type: 'shortfall.found', wallet, amount, network } as const
}

async function closePosted(
  client: PoolClient,
  id: bigint,
  { author, reason }: Decision,
  entryOwner: bigint,
  entryId: string,
): Promise<void> {
  await client.query(
    `UPDATE hub.reconciliation_exception SET resolved_at = clock_timestamp(), resolution = 'booked',
       author = $2, explanation = $3, answer = $4, answer_id = $5 WHERE id = $1`,
    [id, author, reason, entryOwner, entryId],
  )
}

/** Moves the amount from suspense to the key; between shards, through the opening account. */
async function creditKey(
  deps: ResolveDeps,
  exception: ReconciliationException,
  credits: Account,
  shard: number,
  decision: Decision,
): Promise<'applied' | 'replayed'> {
  const amount = exception.amount as Micros
  const owner = await findCredits(deps.ledger, credits)
  const entry = entryOf(exception, 'deposit.identified')
  const isElsewhere = owner.shard !== shard
  if (isElsewhere && (await postedShard(deps.client, entry.id)) === undefined) {
    const opening = await deps.ledger.account('equity:opening')
    const [debit, through] = ['liabilities:suspense', opening.code]
    for (const [from, to, at] of [
      [debit, through, shard],
      [through, debit, owner.shard],
    ] as const) {
      const move = { type: 'balance.adjusted', debit: from, credit: to, asset: 'USDC' } as const
      const name = `reconciliation exception ${exception.id} shard ${at}`
      const id = derivedUuid(exception.foundAt, name)
      await post(deps, { ...move, amount }, { ...opening, shard: at }, { ...entry, id }, decision)
    }
  }
  const event = { type: 'deposit.identified', credits, amount } as const
  const suspense = await deps.ledger.account('liabilities:suspense')
  return post(deps, event, { ...suspense, shard: owner.shard }, entry, decision)
}

/** @throws NotResolvable if the ledger refuses the entry */
async function post(
  { ledger }: ResolveDeps,
  event: SingleStepEvent,
  owner: AccountRef,
  { id, meta }: { readonly id: string; readonly meta: Readonly<Record<string, string>> },
  { author, reason }: Decision,
): Promise<'applied' | 'replayed'> {
  const outcome = await ledger.post(event, { owner, id, meta: { ...meta, author, reason } })
  if (outcome === 'applied' || outcome === 'replayed') return outcome
  throw new NotResolvable(`${event.type} ${id} was refused: ${outcome}.`)
}

/** Closes exceptions of one wallet whose amounts sum to zero. */
async function closeExplained(
  client: PoolClient,
  ids: readonly bigint[],
  { author, reason }: Decision,
): Promise<'resolved' | 'replayed'> {
  const known: ReconciliationException[] = []
  for (const id of new Set(ids)) {
    const each = await findException(client, id)
    if (!each) throw new NotResolvable(`There is no exception ${id}.`)
    known.push(each)
  }
  if (known.every(({ resolution }) => resolution === 'explained')) return 'replayed'
  const resolved = known.find(({ resolution }) => resolution !== null)
  if (resolved) throw new NotResolvable(closedText(resolved))
  if (new Set(known.map(({ wallet }) => wallet)).size > 1) {
    throw new NotResolvable('The exceptions are of two wallets.')
  }
  const sum = known.reduce((total, { amount }) => total + amount, 0n)
  if (sum !== 0n) {
    throw new NotResolvable(
      `The exceptions leave a difference of ${priceTag(sum)}, which must be posted.`,
    )
  }
  for (const each of known) {
    for (const event of ['surplus.found', 'shortfall.found'] as const) {
      const { id } = entryOf(each, event)
      if ((await postedShard(client, id)) !== undefined) {
        throw new NotResolvable(`${event} ${id} was already posted for exception ${each.id}.`)
      }
    }
  }
  await client.query(
    `UPDATE hub.reconciliation_exception SET resolved_at = clock_timestamp(),
       resolution = 'explained', author = $2, explanation = $3 WHERE id = ANY ($1::bigint[])`,
    [known.map(({ id }) => id), author, reason],
  )
  return 'resolved'
}
