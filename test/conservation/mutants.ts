import type { Account, DatabaseSnapshot, Facts } from './facts.ts'

export interface Mutation {
  readonly mutate: (facts: Facts) => Facts
  /** Pattern of the expected finding. */
  readonly finds: RegExp
}

/** Replaces the first item that fits: removes, duplicates or changes it. */
export function first<T>(
  list: readonly T[],
  matches: (item: T) => boolean,
  change: (item: T) => readonly T[],
): T[] {
  const at = list.findIndex(matches)
  const item = list[at]
  if (!item) throw new Error('this run has no item to change')
  return [...list.slice(0, at), ...change(item), ...list.slice(at + 1)]
}

const removed = (): [] => []
const duplicated = <T>(item: T): [T, T] => [item, item]

const database =
  (change: (database: DatabaseSnapshot) => Partial<DatabaseSnapshot>) =>
  (facts: Facts): Facts => ({
    ...facts,
    database: { ...facts.database, ...change(facts.database) },
  })

type Entry = DatabaseSnapshot['entries'][number]

/** Free calls are reported to nobody as a charge. */
const isFree = ({ owner }: Entry): boolean => owner.startsWith('liabilities:free-calls:')

const entry = (event: string, change: (entry: Entry) => readonly Entry[]) =>
  database(({ entries }) => ({
    entries: first(entries, (one) => one.event === event && !isFree(one), change),
  }))

const account = (code: string, change: (account: Account) => Account) =>
  database(({ accounts }) => ({
    accounts: first(
      accounts,
      (a) => a.code === code,
      (a) => [change(a)],
    ),
  }))

const chainBalances =
  (wallet: 'spend' | 'treasury' | 'gas', more: bigint) =>
  (facts: Facts): Facts => {
    const changed = { ...facts.chainBalances, [wallet]: facts.chainBalances[wallet] + more }
    return { ...facts, chainBalances: changed }
  }

/** True if a response reported the charge of a call that paid no external seller. */
const isReported =
  ({ database: { intents } }: Facts) =>
  ({ call, state, charged }: Facts['charges'][number]): boolean =>
    state === 'reported' && charged > 0n && intents.every((intent) => intent.call !== call)

const reportHigherCharge = (facts: Facts): Facts => ({
  ...facts,
  charges: first(facts.charges, isReported(facts), (one) => [
    { ...one, charged: one.charged + 1n },
  ]),
})

/** Removes all charges of the buyer: a single lost response would excuse one unreported charge. */
const reportNoCharge = (facts: Facts): Facts => {
  const buyer = facts.charges.find(isReported(facts))!.key
  return { ...facts, charges: facts.charges.filter(({ key }) => key !== buyer) }
}

const attempt =
  (change: Partial<Facts['attempts'][number]>) =>
  (facts: Facts): Facts => ({
    ...facts,
    attempts: first(
      facts.attempts,
      ({ charged }) => charged.some((amount) => amount > 0n),
      (one) => [{ ...one, ...change }],
    ),
  })

/** Makes a deposit of the sale of a call that its payer has bought once. */
const depositSale = (facts: Facts): Facts => {
  const isOnly = ({ payer, requests }: Facts['attempts'][number]): boolean =>
    facts.attempts.filter(
      (one) => one.payer === payer && one.requests.some((each) => requests.includes(each)),
    ).length === 1
  const nonces = new Set(facts.attempts.filter(isOnly).map(({ nonce }) => nonce))
  const isSale = ({ event, nonce }: Entry): boolean =>
    event === 'call.sold' && nonces.has(nonce as `0x${string}`)
  const deposit = (one: Entry): Entry[] => [{ ...one, event: 'surplus.found' }]
  const entries = first(facts.database.entries, isSale, deposit)
  return { ...facts, database: { ...facts.database, entries } }
}

/** Adds an unexplained microdollar to a seller, or to a buyer below. */
const addToSeller = ({ incomes, ...facts }: Facts): Facts => {
  const [[wallet, amount]] = [...incomes] as [[`0x${string}`, bigint]]
  return { ...facts, incomes: new Map([...incomes, [wallet, amount + 1n]]) }
}
const addToBuyer = ({ buyerWallets, ...facts }: Facts): Facts => {
  const [[wallet, { funded, left }]] = [...buyerWallets] as [
    [`0x${string}`, { funded: bigint; left: bigint }],
  ]
  return {
    ...facts,
    buyerWallets: new Map([...buyerWallets, [wallet, { funded, left: left + 1n }]]),
  }
}
const addReserved = (facts: Facts): Facts => ({
  ...facts,
  keyBalances: first(
    facts.keyBalances,
    () => true,
    (one) => [{ ...one, reserved: 1n }],
  ),
})

/** Mutations of the facts, each with one error; amounts are wrong by one microdollar. */
export const MUTATIONS: Readonly<Record<string, Mutation>> = {
  'a charge that is lost': {
    mutate: entry('call.settled', removed),
    finds: /charged/,
  },
  'a charge that is posted twice': {
    mutate: entry('call.settled', duplicated),
    finds: /was settled more than once/,
  },
  'a charge that is too high': {
    mutate: entry('call.settled', (one) => [{ ...one, amount: one.amount + 1n }]),
    finds: /charged/,
  },
  'a payment that was not posted': {
    mutate: entry('external.confirmed', removed),
    finds: /was posted as paid: 0, expected \d/,
  },
  'a refund that was forgotten': {
    mutate: entry('external.refunded', removed),
    finds: /was charged, net: \d+, expected 0/,
  },
  'a sale that is posted twice': {
    mutate: entry('call.sold', duplicated),
    finds: /^sales of the payment of \w+: 2, expected 1/m,
  },
  'a receipt that was not confirmed': {
    mutate: entry('receipt.confirmed', removed),
    finds: /^receipts of the payment/m,
  },
  'a sale that is a deposit': {
    mutate: depositSale,
    finds: /^payment \w+ is a deposit, and was not paid again/m,
  },
  'a loss': {
    mutate: entry('call.sold', (one) => [one, { ...one, event: 'external.lost' }]),
    finds: /^external\.lost: /m,
  },
  'an intent that is unresolved': {
    mutate: database(({ intents }) => ({
      intents: first(
        intents,
        () => true,
        (one) => [{ ...one, state: 'unresolved' }],
      ),
    })),
    finds: /^unresolved: intent/m,
  },
  'a claim that is pending': {
    mutate: database(({ claims }) => ({
      claims: first(
        claims,
        () => true,
        (one) => [{ ...one, state: 'pending' }],
      ),
    })),
    finds: /^unresolved: claim/m,
  },
  'a hold that is open': {
    mutate: database(() => ({ openHolds: new Map([['USDC', 1n]]) })),
    finds: /^liabilities:holds and open holds/m,
  },
  'a hold that is in the control account': {
    mutate: account('liabilities:holds', (one) => ({ ...one, posted: 1n, stored: 1n })),
    finds: /^liabilities:holds: 1/m,
  },
  'a balance that does not follow from the postings': {
    mutate: account('income:commission', (one) => ({ ...one, stored: one.stored + 1n })),
    finds: /^balance of income:commission/m,
  },
  'a posting without its other side': {
    mutate: account('income:commission', (one) => ({ ...one, posted: one.posted + 1n })),
    finds: /^postings of USDC: 1,/m,
  },
  'an outflow that is counted wrongly': {
    mutate: database(({ outflow }) => ({ outflow: outflow + 1n })),
    finds: /^outflow that the caps count/m,
  },
  'a treasury that has more': {
    mutate: chainBalances('treasury', 1n),
    finds: /^change of the treasury on base/m,
  },
  'a spend wallet that has less': {
    mutate: chainBalances('spend', -1n),
    finds: /^change of the spend wallet/m,
  },
  'gas that was not posted': {
    mutate: chainBalances('gas', -1_000_000_000n),
    finds: /^gas posted in the ledger/m,
  },
  'a seller that has more': { mutate: addToSeller, finds: /^income of seller/m },
  'a buyer that has more': { mutate: addToBuyer, finds: /^sold to/m },
  'a buyer whose money is held': { mutate: addReserved, finds: /^reserved of/m },
  'a buyer to whom another charge was reported': {
    mutate: reportHigherCharge,
    finds: /^call \S+ reported/m,
  },
  'a buyer to whom a charge was not reported': {
    mutate: reportNoCharge,
    finds: /^charged, and not reported/m,
  },
  'a payment that was charged twice': {
    mutate: attempt({ charged: [100n, 100n] }),
    finds: /was charged 2 times/,
  },
  'a payment that was not served': {
    mutate: attempt({ served: false }),
    finds: /is not served/,
  },
}
