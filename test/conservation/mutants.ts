import type { Account, Books, Facts } from './facts.ts'

interface Mutant {
  readonly mutate: (facts: Facts) => Facts
  /** What the judge must say of it. */
  readonly finds: RegExp
}

/** The list with the first item that fits changed: left out, doubled, or made another one. */
function first<T>(
  list: readonly T[],
  fits: (item: T) => boolean,
  into: (item: T) => readonly T[],
): T[] {
  const at = list.findIndex(fits)
  const item = list[at]
  if (!item) throw new Error('nothing in this run can be changed so')
  return [...list.slice(0, at), ...into(item), ...list.slice(at + 1)]
}

const lost = (): [] => []
const doubled = <T>(item: T): [T, T] => [item, item]

const books =
  (change: (books: Books) => Partial<Books>) =>
  (facts: Facts): Facts => ({ ...facts, books: { ...facts.books, ...change(facts.books) } })

type Entry = Books['entries'][number]

const entry = (event: string, into: (entry: Entry) => readonly Entry[]) =>
  books(({ entries }) => ({ entries: first(entries, (one) => one.event === event, into) }))

const account = (code: string, into: (account: Account) => Account) =>
  books(({ accounts }) => ({
    accounts: first(
      accounts,
      (a) => a.code === code,
      (a) => [into(a)],
    ),
  }))

const holdings =
  (wallet: keyof Facts['holdings'], more: bigint) =>
  (facts: Facts): Facts => {
    const changed = { ...facts.holdings, [wallet]: facts.holdings[wallet] + more }
    return { ...facts, holdings: changed }
  }

/** Whether a buyer was told of a charge, of a call that paid nobody outside. */
const isTold =
  ({ books: { intents } }: Facts) =>
  ({ call, state, charged }: Facts['charges'][number]): boolean =>
    state === 'told' && charged > 0n && intents.every((intent) => intent.call !== call)

const toldMore = (facts: Facts): Facts => ({
  ...facts,
  charges: first(facts.charges, isTold(facts), (one) => [{ ...one, charged: one.charged + 1n }]),
})

/** Nothing at all: an answer that was lost would excuse one charge that nobody was told of. */
const toldNothing = (facts: Facts): Facts => {
  const buyer = facts.charges.find(isTold(facts))!.key
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

/** A seller, or a buyer, with a microdollar that nobody gave it. */
const income = ({ incomes, ...facts }: Facts): Facts => {
  const [[wallet, amount]] = [...incomes] as [[`0x${string}`, bigint]]
  return { ...facts, incomes: new Map([...incomes, [wallet, amount + 1n]]) }
}
const purse = ({ purses, ...facts }: Facts): Facts => {
  const [[wallet, { funded, left }]] = [...purses] as [
    [`0x${string}`, { funded: bigint; left: bigint }],
  ]
  return { ...facts, purses: new Map([...purses, [wallet, { funded, left: left + 1n }]]) }
}
const reserved = (facts: Facts): Facts => ({
  ...facts,
  standings: first(
    facts.standings,
    () => true,
    (one) => [{ ...one, reserved: 1n }],
  ),
})

/** Wrong by one thing each; the amounts by a microdollar. */
export const MUTANTS: Readonly<Record<string, Mutant>> = {
  'a charge that is lost': {
    mutate: entry('call.settled', lost),
    finds: /charged/,
  },
  'a charge that is booked twice': {
    mutate: entry('call.settled', doubled),
    finds: /was settled more than once/,
  },
  'a charge that is too high': {
    mutate: entry('call.settled', (one) => [{ ...one, amount: one.amount + 1n }]),
    finds: /charged/,
  },
  'a payment that was not booked': {
    mutate: entry('external.confirmed', lost),
    finds: /was seen as paid: 0, and not \d/,
  },
  'a refund that was forgotten': {
    mutate: entry('external.refunded', lost),
    finds: /was charged, net: \d+, and not 0/,
  },
  'a sale that is booked twice': {
    mutate: entry('call.sold', doubled),
    finds: /^sales of the payment of \w+: 2, and not 1/m,
  },
  'a receipt that was not confirmed': {
    mutate: entry('receipt.confirmed', lost),
    finds: /^receipts of the payment/m,
  },
  'a loss': {
    mutate: entry('call.sold', (one) => [one, { ...one, event: 'external.lost' }]),
    finds: /^external\.lost: /m,
  },
  'an intent that is unresolved': {
    mutate: books(({ intents }) => ({
      intents: first(
        intents,
        () => true,
        (one) => [{ ...one, state: 'unresolved' }],
      ),
    })),
    finds: /^unresolved: intent/m,
  },
  'a claim that is pending': {
    mutate: books(({ claims }) => ({
      claims: first(
        claims,
        () => true,
        (one) => [{ ...one, state: 'pending' }],
      ),
    })),
    finds: /^unresolved: claim/m,
  },
  'a hold that is open': {
    mutate: books(() => ({ openHolds: new Map([['USDC', 1n]]) })),
    finds: /^liabilities:holds and open holds/m,
  },
  'a hold that is in the control account': {
    mutate: account('liabilities:holds', (one) => ({ ...one, posted: 1n, kept: 1n })),
    finds: /^liabilities:holds: 1/m,
  },
  'a balance that does not follow from the postings': {
    mutate: account('income:commission', (one) => ({ ...one, kept: one.kept + 1n })),
    finds: /^balance of income:commission/m,
  },
  'a posting without its other side': {
    mutate: account('income:commission', (one) => ({ ...one, posted: one.posted + 1n })),
    finds: /^postings of USDC: 1,/m,
  },
  'an outflow that is counted wrongly': {
    mutate: books(({ outflow }) => ({ outflow: outflow + 1n })),
    finds: /^outflow that the caps count/m,
  },
  'a treasury that has more': {
    mutate: holdings('treasury', 1n),
    finds: /^change of the treasury/m,
  },
  'a spend wallet that has less': {
    mutate: holdings('spend', -1n),
    finds: /^change of the spend wallet/m,
  },
  'gas that was not booked': {
    mutate: holdings('gas', -1_000_000_000n),
    finds: /^gas by the books/m,
  },
  'a seller that has more': { mutate: income, finds: /^income of seller/m },
  'a buyer that has more': { mutate: purse, finds: /^sold to/m },
  'a buyer whose money is held': { mutate: reserved, finds: /^reserved of/m },
  'a buyer who was told another charge': {
    mutate: toldMore,
    finds: /^call \S+ was told/m,
  },
  'a buyer who was not told of a charge': {
    mutate: toldNothing,
    finds: /^charged, and nobody was told/m,
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
