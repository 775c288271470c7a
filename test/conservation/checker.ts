import { checkBuyers } from './buyer-checks.ts'
import type { Transfer } from './chain-transfers.ts'
import { entriesOf, groupBy, mismatch, netCharges, sum } from './checker-helpers.ts'
import {
  type Account,
  depositsOf,
  type Entry,
  type Facts,
  type Intent,
  isDeposit,
} from './facts.ts'

/**
 * Checks that money was conserved, once nothing is pending. Returns one line per violation. Pure.
 * The chain is the reference; the hub's records are compared with it.
 */
export function checkConservation(facts: Facts): string[] {
  const rules = [
    checkWallets,
    checkLedger,
    checkResolved,
    checkOutgoing,
    checkIncoming,
    checkSellers,
    checkCorrections,
    checkBuyers,
  ]
  return [...rules.flatMap((rule) => rule(facts)), ...facts.findings]
}

const GWEI = 1_000_000_000n
const BASE = 'base'
const inTransit = (network: string): string => `assets:usdc:${network}:in-transit`
/** Accounts of payments that are not final, on all networks. */
const inTransitCodes = (accounts: readonly Account[]): string[] =>
  accounts.flatMap(({ code }) => (/^assets:usdc:\w+:in-transit$/.test(code) ? code : []))
const posted = (accounts: readonly Account[], ...codes: readonly string[]): bigint =>
  sum(accounts.filter(({ code }) => codes.includes(code)).map((account) => account.posted))

/** The chain balances of the platform's wallets changed by exactly what the ledger posted. */
function checkWallets({ before, chainBalances, database }: Facts): string[] {
  const postedChange = (...codes: string[]): bigint =>
    posted(before.database.accounts, ...codes) - posted(database.accounts, ...codes)
  const { spend, treasury, further } = before.chainBalances
  const treasuries = [
    { network: BASE, change: chainBalances.treasury - treasury },
    ...[...(chainBalances.further ?? [])].map(([network, balance]) => ({
      network,
      change: balance - (further?.get(network) ?? 0n),
    })),
  ]
  return [
    ...mismatch(
      'change of the spend wallet',
      chainBalances.spend - spend,
      postedChange('assets:usdc:base:spend'),
    ),
    ...treasuries.flatMap(({ network, change }) =>
      mismatch(
        `change of the treasury on ${network}`,
        change,
        postedChange(`assets:usdc:${network}:treasury`, inTransit(network)),
      ),
    ),
    ...mismatch(
      'gas posted in the ledger, in gwei',
      -posted(database.accounts, 'assets:eth:base:gas'),
      chainBalances.gas / GWEI,
    ),
  ]
}

const HOLDS = [
  ['USDC', 'liabilities:holds'],
  ['FREECALL', 'liabilities:free-calls:holds'],
  ['ALLOWANCE', 'liabilities:allowances:holds'],
] as const

/** The ledger balances, its stored balances equal its postings, and no hold is open. */
function checkLedger({ database: { accounts, openHolds } }: Facts): string[] {
  const assets = [...groupBy(accounts, ({ asset }) => asset)]
  return [
    ...assets.flatMap(([asset, all]) => [
      ...mismatch(`trial balance of ${asset}`, sum(all.map(({ stored }) => stored)), 0n),
      ...mismatch(`postings of ${asset}`, sum(all.map((account) => account.posted)), 0n),
    ]),
    ...accounts.flatMap((account) =>
      mismatch(`balance of ${account.code}`, account.stored, account.posted),
    ),
    ...HOLDS.flatMap(([asset, code]) => [
      ...mismatch(`${code} and open holds`, posted(accounts, code), openHolds.get(asset) ?? 0n),
      ...mismatch(code, posted(accounts, code), 0n),
    ]),
    ...inTransitCodes(accounts).flatMap((code) => mismatch(code, posted(accounts, code), 0n)),
    ...mismatch(TO_SELLERS, posted(accounts, TO_SELLERS), 0n),
  ]
}

const TO_SELLERS = 'liabilities:x402-out:in-transit'

/** Nothing is unresolved after its deadline; all deadlines have passed. */
const checkResolved = ({ database: { claims, intents } }: Facts): string[] => [
  ...claims
    .filter(({ state }) => !['confirmed', 'failed', 'released'].includes(state))
    .map(({ id, state }) => `unresolved: claim ${id} is ${state}`),
  ...intents
    .filter(({ state }) => state !== 'confirmed' && state !== 'unused')
    .map(({ call, state }) => `unresolved: intent ${call} is ${state}`),
]

/**
 * Each transfer from the spend wallet is one payment for one call that was charged the same amount.
 */
function checkOutgoing(facts: Facts): string[] {
  const { transfers, database, wallets } = facts
  const spend = wallets.spend.toLowerCase()
  const sent = transfers.filter(({ from }) => from === spend)
  const intents = new Map(database.intents.map((intent) => [intent.nonce, intent]))
  const paid = groupBy<string | undefined, Transfer>(sent, ({ nonce }) => nonce)
  const confirmations = groupBy(entriesOf(database.entries, 'external.confirmed'), ({ id }) => id)
  const calls = new Set(database.intents.map(({ call }) => call))
  const net = netCharges(facts)
  const unknown = sent.filter(({ nonce }) => !nonce || !intents.has(nonce))
  return [
    ...unknown.map(({ tx, amount }) => `paid and not posted: ${amount} by ${tx}`),
    ...[...confirmations.keys()]
      .filter((id) => !calls.has(id))
      .map((id) => `posted as paid, without an intent: ${id}`),
    ...database.intents.flatMap((intent) => {
      const [transfer] = paid.get(intent.nonce) ?? []
      return checkIntent(intent, transfer, confirmations.get(intent.call) ?? [], net)
    }),
    ...mismatch(
      'outflow that the caps count',
      database.outflow,
      sum(database.intents.filter(isConfirmed).map(({ amount }) => amount)),
    ),
  ]
}

const isConfirmed = ({ state }: Intent): boolean => state === 'confirmed'

function checkIntent(
  { call, owner, payee, amount, state }: Intent,
  transfer: Transfer | undefined,
  confirmations: readonly Entry[],
  net: ReadonlyMap<string, bigint>,
): string[] {
  const expected = transfer ? amount : 0n
  return [
    ...mismatch(`call ${call} was charged, net`, net.get(`${owner} ${call}`) ?? 0n, expected),
    ...mismatch(
      `call ${call} was posted as paid`,
      sum(confirmations.map((entry) => entry.amount)),
      expected,
    ),
    ...mismatch(`intent ${call}`, state, transfer ? 'confirmed' : 'unused'),
    ...(transfer ? mismatch(`call ${call} paid`, transfer.amount, amount) : []),
    ...(transfer ? mismatch(`call ${call} paid to`, transfer.to, payee) : []),
  ]
}

const SALES = ['credits.purchased', 'call.sold']

/** Each transfer to the treasury is one claim, sold once and confirmed once. */
function checkIncoming({ transfers, database, wallets }: Facts): string[] {
  const treasury = wallets.treasury.toLowerCase()
  const received = transfers.filter(({ to }) => to === treasury)
  const sales = database.entries.filter(({ event }) => SALES.includes(event))
  const soldBy = groupBy(sales, ({ payer, nonce }) => `${payer} ${nonce}`)
  const receipts = groupBy(entriesOf(database.entries, 'receipt.confirmed'), ({ id }) => id)
  const claims = new Map(database.claims.map((claim) => [`${claim.payer} ${claim.nonce}`, claim]))
  const paid = new Set(received.map(({ from, nonce }) => `${from} ${nonce}`))
  const deposits = depositsOf(database)
  return [
    ...received.flatMap(({ tx, from, nonce, amount }) => {
      const key = `${from} ${nonce}`
      const [claim, sold = []] = [claims.get(key), soldBy.get(key)]
      if (!claim && sold.length === 0) return [`received and not posted: ${amount} by ${tx}`]
      const deposit = deposits.get(key)
      if (deposit !== undefined) {
        return mismatch(`deposit of ${tx}, also sold ${sold.length} times`, deposit, amount)
      }
      return [
        ...mismatch(`received by ${tx} and sold`, sum(sold.map((sale) => sale.amount)), amount),
        ...mismatch(`sales of the payment of ${tx}`, sold.length, 1),
        ...mismatch(`claim of the payment of ${tx}`, claim?.state, 'confirmed'),
        ...mismatch(`receipts of the payment of ${tx}`, receipts.get(claim?.id ?? '')?.length, 1),
      ]
    }),
    ...[...soldBy.keys()].filter((key) => !paid.has(key)).map((key) => `sold, not paid: ${key}`),
    ...database.claims
      .filter(({ payer, nonce, state }) => state === 'confirmed' && !paid.has(`${payer} ${nonce}`))
      .map(({ id }) => `confirmed, not paid: claim ${id}`),
  ]
}

/** Every seller received on the chain what the hub recorded as paid. */
function checkSellers({ incomes, database }: Facts): string[] {
  const to = groupBy(database.intents.filter(isConfirmed), ({ payee }) => payee)
  return [
    ...[...incomes].flatMap(([wallet, income]) =>
      mismatch(
        `income of seller ${wallet}`,
        income,
        sum((to.get(wallet) ?? []).map((i) => i.amount)),
      ),
    ),
    ...[...to.keys()]
      .filter((payee) => !incomes.has(payee as `0x${string}`))
      .map((payee) => `paid, and no seller: ${payee}`),
  ]
}

/** Losses and corrections that would need a person's decision. */
const BAD_EVENTS = [
  'external.lost',
  'receipt.vanished',
  'surplus.found',
  'shortfall.found',
  'balance.adjusted',
]

const checkCorrections = ({ database }: Facts): string[] =>
  database.entries
    .filter(({ event, id }) => BAD_EVENTS.includes(event) && !isDeposit(database, event, id))
    .map(({ event, id, amount }) => `${event}: ${amount} of ${id}`)
