import type { Transfer } from './chain-transfers.ts'
import type { Account, Entry, Facts, Intent } from './facts.ts'
import { fromBuyers } from './judge-buyers.ts'
import { lists, named, netCharges, same, sum } from './reckon.ts'

/**
 * Whether money was conserved, once nothing moves any more: a line for each thing that is wrong.
 * Pure; the chain is the measure, what the hub says of a payment is only held against it.
 */
export function judge(facts: Facts): string[] {
  const rules = [wallets, control, resolved, outgoing, incoming, sellers, corrections, fromBuyers]
  return [...rules.flatMap((rule) => rule(facts)), ...facts.findings]
}

const GWEI = 1_000_000_000n
const IN_TRANSIT = 'assets:usdc:base:in-transit'
const posted = (accounts: readonly Account[], ...codes: readonly string[]): bigint =>
  sum(accounts.filter(({ code }) => codes.includes(code)).map((account) => account.posted))

/** What the wallets of the house gained on the chain is what the ledger booked for them. */
function wallets({ before, holdings, books }: Facts): string[] {
  const booked = (...codes: string[]): bigint =>
    posted(before.books.accounts, ...codes) - posted(books.accounts, ...codes)
  const { spend, treasury } = before.holdings
  return [
    ...same('change of the spend wallet', holdings.spend - spend, booked('assets:usdc:base:spend')),
    ...same(
      'change of the treasury',
      holdings.treasury - treasury,
      booked('assets:usdc:base:treasury', IN_TRANSIT),
    ),
    ...same(
      'gas by the books, in gwei',
      -posted(books.accounts, 'assets:eth:base:gas'),
      holdings.gas / GWEI,
    ),
  ]
}

const HOLDS = [
  ['USDC', 'liabilities:holds'],
  ['FREECALL', 'liabilities:free-calls:holds'],
  ['ALLOWANCE', 'liabilities:allowances:holds'],
] as const

/** The books balance, agree with themselves, and hold nothing back. */
function control({ books: { accounts, openHolds } }: Facts): string[] {
  const assets = [...lists(accounts, ({ asset }) => asset)]
  return [
    ...assets.flatMap(([asset, all]) => [
      ...same(`trial balance of ${asset}`, sum(all.map(({ kept }) => kept)), 0n),
      ...same(`postings of ${asset}`, sum(all.map((account) => account.posted)), 0n),
    ]),
    ...accounts.flatMap((account) =>
      same(`balance of ${account.code}`, account.kept, account.posted),
    ),
    ...HOLDS.flatMap(([asset, code]) => [
      ...same(`${code} and open holds`, posted(accounts, code), openHolds.get(asset) ?? 0n),
      ...same(code, posted(accounts, code), 0n),
    ]),
    ...same(IN_TRANSIT, posted(accounts, IN_TRANSIT), 0n),
    ...same(TO_SELLERS, posted(accounts, TO_SELLERS), 0n),
  ]
}

const TO_SELLERS = 'liabilities:x402-out:in-transit'

/** Nothing is open past its deadline, which has passed for all. */
const resolved = ({ books: { claims, intents } }: Facts): string[] => [
  ...claims
    .filter(({ state }) => !['confirmed', 'failed', 'released'].includes(state))
    .map(({ id, state }) => `unresolved: claim ${id} is ${state}`),
  ...intents
    .filter(({ state }) => state !== 'confirmed' && state !== 'unused')
    .map(({ call, state }) => `unresolved: intent ${call} is ${state}`),
]

/** Each transfer of the spend wallet is one payment for one call that was charged as much. */
function outgoing(facts: Facts): string[] {
  const { transfers, books, wallets } = facts
  const spend = wallets.spend.toLowerCase()
  const sent = transfers.filter(({ from }) => from === spend)
  const intents = new Map(books.intents.map((intent) => [intent.nonce, intent]))
  const paid = lists<string | undefined, Transfer>(sent, ({ nonce }) => nonce)
  const seen = lists(named(books.entries, 'external.confirmed'), ({ id }) => id)
  const calls = new Set(books.intents.map(({ call }) => call))
  const net = netCharges(facts)
  const unknown = sent.filter(({ nonce }) => !nonce || !intents.has(nonce))
  return [
    ...unknown.map(({ tx, amount }) => `paid and not booked: ${amount} by ${tx}`),
    ...[...seen.keys()]
      .filter((id) => !calls.has(id))
      .map((id) => `booked as paid, without an intent: ${id}`),
    ...books.intents.flatMap((intent) => {
      const [transfer] = paid.get(intent.nonce) ?? []
      return outcomeOf(intent, transfer, seen.get(intent.call) ?? [], net)
    }),
    ...same(
      'outflow that the caps count',
      books.outflow,
      sum(books.intents.filter(isConfirmed).map(({ amount }) => amount)),
    ),
  ]
}

const isConfirmed = ({ state }: Intent): boolean => state === 'confirmed'

function outcomeOf(
  { call, owner, payee, amount, state }: Intent,
  transfer: Transfer | undefined,
  seen: readonly Entry[],
  net: ReadonlyMap<string, bigint>,
): string[] {
  const must = transfer ? amount : 0n
  return [
    ...same(`call ${call} was charged, net`, net.get(`${owner} ${call}`) ?? 0n, must),
    ...same(`call ${call} was seen as paid`, sum(seen.map((entry) => entry.amount)), must),
    ...same(`intent ${call}`, state, transfer ? 'confirmed' : 'unused'),
    ...(transfer ? same(`call ${call} paid`, transfer.amount, amount) : []),
    ...(transfer ? same(`call ${call} paid to`, transfer.to, payee) : []),
  ]
}

const SALES = ['credits.purchased', 'call.sold']

/** Each transfer to the treasury is one claim, sold once and confirmed once. */
function incoming({ transfers, books, wallets }: Facts): string[] {
  const treasury = wallets.treasury.toLowerCase()
  const received = transfers.filter(({ to }) => to === treasury)
  const sales = books.entries.filter(({ event }) => SALES.includes(event))
  const soldBy = lists(sales, ({ payer, nonce }) => `${payer} ${nonce}`)
  const receipts = lists(named(books.entries, 'receipt.confirmed'), ({ id }) => id)
  const claims = new Map(books.claims.map((claim) => [`${claim.payer} ${claim.nonce}`, claim]))
  const paid = new Set(received.map(({ from, nonce }) => `${from} ${nonce}`))
  return [
    ...received.flatMap(({ tx, from, nonce, amount }) => {
      const key = `${from} ${nonce}`
      const [claim, sold = []] = [claims.get(key), soldBy.get(key)]
      if (!claim && sold.length === 0) return [`received and not booked: ${amount} by ${tx}`]
      return [
        ...same(`received by ${tx} and sold`, sum(sold.map((sale) => sale.amount)), amount),
        ...same(`sales of the payment of ${tx}`, sold.length, 1),
        ...same(`claim of the payment of ${tx}`, claim?.state, 'confirmed'),
        ...same(`receipts of the payment of ${tx}`, receipts.get(claim?.id ?? '')?.length, 1),
      ]
    }),
    ...[...soldBy.keys()].filter((key) => !paid.has(key)).map((key) => `sold, not paid: ${key}`),
    ...books.claims
      .filter(({ payer, nonce, state }) => state === 'confirmed' && !paid.has(`${payer} ${nonce}`))
      .map(({ id }) => `confirmed, not paid: claim ${id}`),
  ]
}

/** Every seller has on the chain what was booked as paid to it. */
function sellers({ incomes, books }: Facts): string[] {
  const to = lists(books.intents.filter(isConfirmed), ({ payee }) => payee)
  return [
    ...[...incomes].flatMap(([wallet, income]) =>
      same(`income of seller ${wallet}`, income, sum((to.get(wallet) ?? []).map((i) => i.amount))),
    ),
    ...[...to.keys()]
      .filter((payee) => !incomes.has(payee as `0x${string}`))
      .map((payee) => `paid, and no seller: ${payee}`),
  ]
}

/** Losses, and what a person would have to decide. */
const BAD_EVENTS = [
  'external.lost',
  'receipt.vanished',
  'surplus.found',
  'shortfall.found',
  'balance.adjusted',
]

const corrections = ({ books }: Facts): string[] =>
  books.entries
    .filter(({ event }) => BAD_EVENTS.includes(event))
    .map(({ event, id, amount }) => `${event}: ${amount} of ${id}`)
