import type { PoolClient } from 'pg'
import { derivedUuid } from '../ids.ts'
import type { Account, SingleStepEvent, Wallet } from '../ledger/events.ts'
import type { Books } from '../ledger/in-transaction.ts'
import type { AccountRef } from '../ledger/ledger.ts'
import { walletOf } from '../ledger/postings.ts'
import type { Decision } from '../ledger/reverse.ts'
import { type Micros, priceTag } from '../money.ts'
import { findException, type ReconciliationException } from './exceptions.ts'
import { lockReconciliation } from './range.ts'

/** What somebody decides about an exception. */
export type Resolution =
  /** The chain has more: into suspense, until somebody knows whose it is. */
  | { readonly decision: 'surplus' }
  /** The chain has less: the house's expense. */
  | { readonly decision: 'shortfall' }
  /** The chain has more, and it is a key's: its credits. Also after `surplus`. */
  | { readonly decision: 'identified'; readonly credits: Account }
  /**
   * Nothing is to be booked, as the exceptions cancel each other out: an entry without a hash and
   * the transfer that it stands for.
   */
  | { readonly decision: 'explained'; readonly together?: readonly bigint[] }

/** The exception cannot be resolved so; the message says why. */
export class NotResolvable extends Error {
  override readonly name = 'NotResolvable'
}

/**
 * Accounts for an exception, with author and reason: books an entry that makes chain and books
 * agree, and then closes it. Where `ledger` books within the transaction of `client`, both happen
 * or neither. Where it does not, the entry's id follows from the exception, so that after a crash
 * in between the same decision goes on where it stopped, and the next run closes what is booked.
 * @returns `replayed` when it was resolved so before
 * @throws NotResolvable
 */
export async function resolveException(
  ports: Ports,
  id: bigint,
  resolution: Resolution,
  decision: Decision,
): Promise<'resolved' | 'replayed'> {
  if (decision.author.trim() === '' || decision.reason.trim() === '') {
    throw new NotResolvable('A resolution needs an author and a reason.')
  }
  const { client } = ports
  // Nobody reconciles meanwhile: a run must not close what is being booked.
  await lockReconciliation(client)
  const found = await findException(client, id)
  if (!found) throw new NotResolvable(`There is no exception ${id}.`)
  if (resolution.decision === 'explained') {
    return explain(client, [id, ...(resolution.together ?? [])], decision)
  }
  return book(ports, found, resolution, decision)
}

type Booking = Exclude<Resolution, { decision: 'explained' }>

interface Ports {
  readonly client: PoolClient
  readonly ledger: Books
}

async function book(
  ports: Ports,
  found: ReconciliationException,
  resolution: Booking,
  decision: Decision,
): Promise<'resolved' | 'replayed'> {
  const gives = resolution.decision !== 'shortfall'
  if (found.amount === 0n || found.amount > 0n !== gives) {
    throw new NotResolvable(
      `By exception ${found.id} the chain has ${priceTag(found.amount)} more than the books, ` +
        `for which ${resolution.decision} is no answer.`,
    )
  }
  const isBooked = found.resolution === 'booked'
  if (found.resolution !== null && !isBooked) throw new NotResolvable(closed(found))
  const answer = entryOf(found, gives ? 'surplus.found' : 'shortfall.found')
  const place = await placeOf(ports, answer.id, resolution)
  if (!isBooked) {
    const event = await answerTo(ports, found)
    const owner = { ...(await ports.ledger.account(walletOf(event.wallet))), shard: place.shard }
    await post(ports, event, owner, answer, decision)
    await close(ports.client, found.id, decision, owner.id, answer.id)
  }
  if (resolution.decision !== 'identified') return isBooked ? 'replayed' : 'resolved'
  const outcome = await identify(ports, found, resolution.credits, place, decision)
  return isBooked && outcome === 'replayed' ? 'replayed' : 'resolved'
}

const closed = ({ id, resolution, explanation }: ReconciliationException): string =>
  `Exception ${id} is closed already (${resolution}): ${explanation}`

/** The entry that an exception would have of this event. */
const entryOf = (found: ReconciliationException, event: SingleStepEvent['type']) => ({
  id: derivedUuid(found.foundAt, `reconciliation exception ${found.id} ${event}`),
  meta: { exception: String(found.id), ...(found.tx === null ? {} : { tx: found.tx }) },
})

/** The shard where the surplus is booked, or will be: that of the key which gets it, if known. */
async function placeOf(
  { client, ledger }: Ports,
  id: string,
  resolution: Booking,
): Promise<{ readonly shard: number }> {
  const booked = await shardOf(client, id)
  if (booked) return booked
  if (resolution.decision !== 'identified') return { shard: 0 }
  return { shard: (await credit(ledger, resolution.credits)).shard }
}

/** Where the entry of an exception was booked, if it was. */
async function shardOf(client: PoolClient, id: string): Promise<{ shard: number } | undefined> {
  const { rows } = await client.query<{ shard: number }>(
    `SELECT j.shard FROM ledger.account a
     JOIN ledger.journal j ON j.owner = a.id AND j.id = $1 AND j.phase = 0
     WHERE a.code LIKE 'assets:usdc:base:%' OR a.code = 'liabilities:suspense'`,
    [id],
  )
  return rows[0]
}

/** @throws NotResolvable when there are no such credits */
const credit = (ledger: Books, credits: Account): Promise<AccountRef> =>
  ledger.account(credits).catch((cause: unknown) => {
    throw new NotResolvable(`There is no account ${credits}.`, { cause })
  })

/** What of an entry is still in transit is taken out there. */
async function answerTo({ client }: Ports, found: ReconciliationException) {
  const amount = (found.amount > 0n ? found.amount : -found.amount) as Micros
  if (found.amount > 0n) return { type: 'surplus.found', wallet: found.wallet, amount } as const
  const { rows } = await client.query<{ in_transit: boolean }>(
    `SELECT e.transit >= $2 AS in_transit FROM hub.reconciliation_exception x
     JOIN hub.wallet_entry e ON e.id = x.entry WHERE x.id = $1`,
    [found.id, amount],
  )
  const wallet: Wallet = rows[0]?.in_transit ? 'in-transit' : found.wallet
  return { type: 'shortfall.found', wallet, amount } as const
}

async function close(
  client: PoolClient,
  id: bigint,
  { author, reason }: Decision,
  answer: bigint,
  answerId: string,
): Promise<void> {
  await client.query(
    `UPDATE hub.reconciliation_exception SET resolved_at = clock_timestamp(), resolution = 'booked',
       author = $2, explanation = $3, answer = $4, answer_id = $5 WHERE id = $1`,
    [id, author, reason, answer, answerId],
  )
}

/** Out of suspense to the key; where that is on another shard, by way of the opening balance. */
async function identify(
  ports: Ports,
  found: ReconciliationException,
  credits: Account,
  { shard }: { readonly shard: number },
  decision: Decision,
): Promise<'applied' | 'replayed'> {
  const amount = found.amount as Micros
  const owner = await credit(ports.ledger, credits)
  const entry = entryOf(found, 'deposit.identified')
  if (owner.shard !== shard && !(await shardOf(ports.client, entry.id))) {
    const opening = await ports.ledger.account('equity:opening')
    const [debit, through] = ['liabilities:suspense', opening.code]
    for (const [from, to, at] of [
      [debit, through, shard],
      [through, debit, owner.shard],
    ] as const) {
      const move = { type: 'balance.adjusted', debit: from, credit: to, asset: 'USDC' } as const
      const id = derivedUuid(found.foundAt, `reconciliation exception ${found.id} shard ${at}`)
      await post(ports, { ...move, amount }, { ...opening, shard: at }, { ...entry, id }, decision)
    }
  }
  const event = { type: 'deposit.identified', credits, amount } as const
  const suspense = await ports.ledger.account('liabilities:suspense')
  return post(ports, event, { ...suspense, shard: owner.shard }, entry, decision)
}

/** @throws NotResolvable when it was refused */
async function post(
  { ledger }: Ports,
  event: SingleStepEvent,
  owner: AccountRef,
  { id, meta }: { readonly id: string; readonly meta: Readonly<Record<string, string>> },
  { author, reason }: Decision,
): Promise<'applied' | 'replayed'> {
  const outcome = await ledger.post(event, { owner, id, meta: { ...meta, author, reason } })
  if (outcome === 'applied' || outcome === 'replayed') return outcome
  throw new NotResolvable(`${event.type} ${id} was refused: ${outcome}.`)
}

/** Closes exceptions of one wallet that cancel each other out. */
async function explain(
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
  const over = known.find(({ resolution }) => resolution !== null)
  if (over) throw new NotResolvable(closed(over))
  if (new Set(known.map(({ wallet }) => wallet)).size > 1) {
    throw new NotResolvable('The exceptions are of two wallets.')
  }
  const sum = known.reduce((total, { amount }) => total + amount, 0n)
  if (sum !== 0n) {
    throw new NotResolvable(
      `Together they leave ${priceTag(sum)} between chain and books, which must be booked.`,
    )
  }
  for (const each of known) {
    for (const event of ['surplus.found', 'shortfall.found'] as const) {
      const { id } = entryOf(each, event)
      if (await shardOf(client, id)) throw new NotResolvable(`${event} ${id} was booked for it.`)
    }
  }
  await client.query(
    `UPDATE hub.reconciliation_exception SET resolved_at = clock_timestamp(),
       resolution = 'explained', author = $2, explanation = $3 WHERE id = ANY ($1::bigint[])`,
    [known.map(({ id }) => id), author, reason],
  )
  return 'resolved'
}
