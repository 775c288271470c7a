import { creditsOf } from '../../core/ledger/postings.ts'
import type { Attempt, Facts, Standing } from './facts.ts'
import type { Charge } from './operators.ts'
import { lists, netCharges, same, sum } from './reckon.ts'

/** What buyers were told, and what they have left, agrees with the books. */
export function fromBuyers(facts: Facts): string[] {
  const net = netCharges(facts)
  const given = new Set(
    facts.books.intents.filter(({ state }) => state === 'unused').map(({ call }) => call),
  )
  return [
    ...settledOnce(facts),
    ...facts.charges.flatMap((charge) => toldTrue(charge, net, given)),
    ...facts.standings.flatMap((standing) => accountOf(standing, facts, net)),
    ...attempts(facts),
    ...purses(facts),
  ]
}

const settledOnce = ({ books }: Facts): string[] => {
  const settled = books.entries.filter(({ event }) => event === 'call.settled')
  const twice = [...lists(settled, ({ id }) => id)].filter(([, entries]) => entries.length > 1)
  return twice.map(([call]) => `call ${call} was settled more than once`)
}

/** What a caller was told to be charged was charged, unless the seller never took it. */
function toldTrue(
  { key, call, charged, state }: Charge,
  net: ReadonlyMap<string, bigint>,
  given: ReadonlySet<string>,
): string[] {
  if (state !== 'told' || call === undefined) return []
  const must = given.has(call) ? 0n : charged
  return same(`call ${call} was told ${charged}, and charged`, chargeOf(net, key, call), must)
}

const chargeOf = (net: ReadonlyMap<string, bigint>, key: string, call: string): bigint =>
  net.get(`${creditsOf(key)} ${call}`) ?? 0n

/** A key has what it bought, less what it was charged; and was told of every charge. */
function accountOf(
  { keyId, balance, reserved }: Standing,
  { books, charges }: Facts,
  net: ReadonlyMap<string, bigint>,
): string[] {
  const account = creditsOf(keyId)
  const bought = books.entries.filter(
    ({ event, owner }) => event === 'credits.purchased' && owner === account,
  )
  const own = [...net].filter(([key]) => key.startsWith(`${account} `))
  const spent = sum(own.map(([, amount]) => amount))
  const told = charges.filter(({ key }) => key === keyId)
  const known = new Set(told.map(({ call }) => call))
  const silent = own.filter(([key, amount]) => amount > 0n && !known.has(key.split(' ')[1]))
  const excuses = told.filter(({ call, state }) => call === undefined && state !== 'told')
  const untold = silent.length > excuses.length ? silent.map(([key]) => key) : []
  return [
    ...same(`credits of ${keyId}`, balance, sum(bought.map(({ amount }) => amount)) - spent),
    ...same(`reserved of ${keyId}`, reserved, 0n),
    ...untold.map((key) => `charged, and nobody was told: ${key}`),
  ]
}

/** A payment is charged to one answer at most, and whoever has paid is served. */
const attempts = (facts: Facts): string[] => {
  const treasury = facts.wallets.treasury.toLowerCase()
  const received = facts.transfers.filter(({ to }) => to === treasury)
  const paid = new Map(received.map(({ from, nonce, amount }) => [`${from} ${nonce}`, amount]))
  return facts.attempts.flatMap((attempt) => attemptOf(attempt, paid))
}

function attemptOf(
  { payer, nonce, amount, charged, served }: Attempt,
  paid: ReadonlyMap<string, bigint>,
): string[] {
  const received = paid.get(`${payer} ${nonce}`)
  const charges = charged.filter((each) => each > 0n)
  return [
    ...(charges.length > 1 ? [`payment ${nonce} was charged ${charges.length} times`] : []),
    ...charges.flatMap((each) => same(`payment ${nonce} was told and came`, each, received)),
    ...(received === undefined ? [] : same(`payment ${nonce}`, received, amount)),
    ...(served === false ? [`payment ${nonce} was made, and is not served`] : []),
  ]
}

/** What left the wallet of a buyer was sold to it. */
function purses({ purses, books }: Facts): string[] {
  const sold = lists(
    books.entries.filter(({ event }) => event === 'credits.purchased' || event === 'call.sold'),
    ({ payer }) => payer,
  )
  return [...purses].flatMap(([wallet, { funded, left }]) => {
    const sales = sold.get(wallet) ?? []
    return same(`sold to ${wallet}`, sum(sales.map(({ amount }) => amount)), funded - left)
  })
}
