import { creditsOf } from '../../core/ledger/postings.ts'
import { groupBy, mismatch, netCharges, sum } from './checker-helpers.ts'
import { depositsOf, type Facts, type KeyBalance, type PaymentAttempt } from './facts.ts'
import type { Charge } from './request-recorder.ts'

/** Checks the responses that buyers received and their remaining balances against the database. */
export function checkBuyers(facts: Facts): string[] {
  const net = netCharges(facts)
  const unused = new Set(
    facts.database.intents.filter(({ state }) => state === 'unused').map(({ call }) => call),
  )
  return [
    ...checkSettledOnce(facts),
    ...facts.charges.flatMap((charge) => checkReportedCharge(charge, net, unused)),
    ...facts.keyBalances.flatMap((balances) => checkKeyBalance(balances, facts, net)),
    ...checkAttempts(facts),
    ...checkWallets(facts),
  ]
}

const checkSettledOnce = ({ database }: Facts): string[] => {
  const settled = database.entries.filter(({ event }) => event === 'call.settled')
  const twice = [...groupBy(settled, ({ id }) => id)].filter(([, entries]) => entries.length > 1)
  return twice.map(([call]) => `call ${call} was settled more than once`)
}

/** A reported charge was made, unless the seller never used the payment. */
function checkReportedCharge(
  { key, call, charged, state }: Charge,
  net: ReadonlyMap<string, bigint>,
  unused: ReadonlySet<string>,
): string[] {
  if (state !== 'reported' || call === undefined) return []
  const expected = unused.has(call) ? 0n : charged
  return mismatch(
    `call ${call} reported ${charged}, and charged`,
    chargeOf(net, key, call),
    expected,
  )
}

const chargeOf = (net: ReadonlyMap<string, bigint>, key: string, call: string): bigint =>
  net.get(`${creditsOf(key)} ${call}`) ?? 0n

/** The balance of a key is its purchases minus its charges, and every charge was reported. */
function checkKeyBalance(
  { keyId, balance, reserved }: KeyBalance,
  { database, charges }: Facts,
  net: ReadonlyMap<string, bigint>,
): string[] {
  const account = creditsOf(keyId)
  const bought = database.entries.filter(
    ({ event, owner }) => event === 'credits.purchased' && owner === account,
  )
  const accountCharges = [...net].filter(([key]) => key.startsWith(`${account} `))
  const spent = sum(accountCharges.map(([, amount]) => amount))
  const keyCharges = charges.filter(({ key }) => key === keyId)
  const reportedCalls = new Set(keyCharges.map(({ call }) => call))
  const missing = accountCharges.filter(
    ([key, amount]) => amount > 0n && !reportedCalls.has(key.split(' ')[1]),
  )
  const lostResponses = keyCharges.filter(
    ({ call, state }) => call === undefined && state !== 'reported',
  )
  const unreported = missing.length > lostResponses.length ? missing.map(([key]) => key) : []
  return [
    ...mismatch(`credits of ${keyId}`, balance, sum(bought.map(({ amount }) => amount)) - spent),
    ...mismatch(`reserved of ${keyId}`, reserved, 0n),
    ...unreported.map((key) => `charged, and not reported: ${key}`),
  ]
}

/** At most one response reports a charge for a payment, and every paid request is served. */
const checkAttempts = (facts: Facts): string[] => {
  const treasury = facts.wallets.treasury.toLowerCase()
  const received = facts.transfers.filter(({ to }) => to === treasury)
  const paid = new Map(received.map(({ from, nonce, amount }) => [`${from} ${nonce}`, amount]))
  const deposits = depositsOf(facts.database)
  const isDeposited = ({ payer, nonce }: PaymentAttempt) => deposits.has(`${payer} ${nonce}`)
  const served = facts.attempts.filter((attempt) => attempt.served && !isDeposited(attempt))
  return facts.attempts.flatMap((attempt) =>
    isDeposited(attempt)
      ? [...checkAttempt({ ...attempt, served: undefined }, paid), ...checkDeposit(attempt, served)]
      : checkAttempt(attempt, paid),
  )
}

/** A payment becomes a deposit only if it was refused, and its payer paid for the request again. */
function checkDeposit(
  { payer, nonce, requests, isRefused }: PaymentAttempt,
  served: readonly PaymentAttempt[],
): string[] {
  const isPaidAgain = served.some(
    (other) => other.payer === payer && other.requests.some((one) => requests.includes(one)),
  )
  return isRefused && isPaidAgain ? [] : [`payment ${nonce} is a deposit, and was not paid again`]
}

function checkAttempt(
  { payer, nonce, amount, charged, served }: PaymentAttempt,
  paid: ReadonlyMap<string, bigint>,
): string[] {
  const received = paid.get(`${payer} ${nonce}`)
  const charges = charged.filter((each) => each > 0n)
  return [
    ...(charges.length > 1 ? [`payment ${nonce} was charged ${charges.length} times`] : []),
    ...charges.flatMap((each) =>
      mismatch(`payment ${nonce} was reported and received`, each, received),
    ),
    ...(received === undefined ? [] : mismatch(`payment ${nonce}`, received, amount)),
    ...(served === false ? [`payment ${nonce} was made, but is not served`] : []),
  ]
}

/** The amount spent by a buyer wallet equals the sales recorded for it. */
function checkWallets({ buyerWallets, database }: Facts): string[] {
  const sold = groupBy(
    database.entries.filter(({ event }) => event === 'credits.purchased' || event === 'call.sold'),
    ({ payer }) => payer,
  )
  const deposits = [...depositsOf(database)]
  return [...buyerWallets].flatMap(([wallet, { funded, left }]) => {
    const sales = (sold.get(wallet) ?? []).map(({ amount }) => amount)
    const own = deposits.flatMap(([key, amount]) => (key.startsWith(`${wallet} `) ? amount : []))
    return mismatch(`sold to ${wallet}`, sum([...sales, ...own]), funded - left)
  })
}
