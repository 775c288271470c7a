import { priceTag } from '../money.ts'
import type { Leftovers } from './match.ts'
import type {
  Finding,
  GoneTransfer,
  OpenEntry,
  OpenTransfer,
  Pending,
  TransitItem,
  WalletName,
} from './types.ts'

/** What a judgement starts from, as of the last block that was read. */
export interface Case extends Leftovers {
  readonly wallet: WalletName
  /** Microdollars on the chain, after that block. */
  readonly chain: bigint
  /** Microdollars by the books. */
  readonly ledger: bigint
  /** The books of the wallet begin after this block. */
  readonly begin: bigint
  /** Whatever was booked before this instant must be on the chain by now. */
  readonly finalSince: Date
}

export interface Judgement {
  readonly findings: readonly Finding[]
  readonly pending: readonly Pending[]
}

/**
 * Why chain and books differ, item by item. Pure. The amounts of all findings and of what is
 * pending add up to exactly what the chain has more than the books: whatever the items leave over
 * is a finding of its own.
 */
export function judge(facts: Case): Judgement {
  const booked = facts.entries.filter((entry) => !isOpening(entry, facts))
  const pairs = pairsOf(booked, facts.transfers)
  const paired = new Set(pairs.flatMap(([entry, transfer]) => [entry, transfer]))
  const transfers = facts.transfers.filter((transfer) => !paired.has(transfer))
  const entries = booked.filter((entry) => !paired.has(entry))
  const judged: Judgement[] = [
    found(pairs.map(([entry, transfer]) => differing(entry, transfer))),
    ...transfers.map(judgeTransfer),
    ...entries.map((entry) => judgeEntry(entry, facts.finalSince)),
    found(facts.gone.map(reorganised)),
    ...facts.transit.map(judgeTransit),
  ]
  const findings = judged.flatMap((each) => each.findings)
  const pending = judged.flatMap((each) => each.pending)
  const explained = [...findings, ...pending].reduce((sum, { amount }) => sum + amount, 0n)
  const rest = facts.chain - facts.ledger - explained
  return { findings: rest === 0n ? findings : [...findings, unexplained(facts, rest)], pending }
}

const found = (findings: readonly Finding[]): Judgement => ({ findings, pending: [] })
const waits = (pending: Pending): Judgement => ({ findings: [], pending: [pending] })

/** What was there before the books is in the balance of the block that the opening names. */
const isOpening = ({ event, opensAt }: OpenEntry, { begin }: Case): boolean =>
  event === 'balance.opened' && opensAt !== null && opensAt <= begin

/** An entry and a transfer of one transaction and direction, whose amounts are not the same. */
function pairsOf(
  entries: readonly OpenEntry[],
  transfers: readonly OpenTransfer[],
): [OpenEntry, OpenTransfer][] {
  const free = new Set(transfers)
  return entries.flatMap((entry) => {
    const { tx, payer, amount } = entry
    const transfer = [...free].find(
      (each) =>
        each.tx === tx &&
        each.amount > 0n === amount > 0n &&
        each.amount !== amount &&
        (payer === null || payer === each.sender),
    )
    if (!transfer) return []
    free.delete(transfer)
    return [[entry, transfer] as [OpenEntry, OpenTransfer]]
  })
}

function differing(entry: OpenEntry, transfer: OpenTransfer): Finding {
  return {
    kind: 'amount_differs',
    fact: `amount_differs entry ${entry.id} transfer ${transfer.id}`,
    amount: transfer.amount - entry.amount,
    reason: `The transaction ${verb(transfer.amount)} ${size(transfer.amount)}, and \
${entry.event} ${entry.entry} books ${size(entry.amount)}.`,
    tx: transfer.tx,
    block: transfer.block,
    transfer: transfer.id,
    entry: entry.id,
  }
}

function judgeTransfer({ id, tx, block, amount, sender, recipient, awaits }: OpenTransfer) {
  if (awaits !== null) return waits({ what: 'settling', amount, id: awaits, tx })
  const deposit = amount > 0n
  const kind = deposit ? 'unknown_deposit' : 'unknown_withdrawal'
  const reason = deposit
    ? `${sender} sent ${priceTag(amount)} that no entry and no open payment explains.`
    : `${priceTag(-amount)} went to ${recipient}, and no entry and no open payment explains it.`
  return found([{ kind, fact: `${kind} transfer ${id}`, amount, reason, tx, block, transfer: id }])
}

function judgeEntry(open: OpenEntry, finalSince: Date): Judgement {
  const { id, event, entry, tx, at } = open
  const amount = -open.amount
  const finding = (kind: Finding['kind'], reason: string, fact = `${kind} entry ${id}`) =>
    found([{ kind, fact, amount, reason, tx, entry: id }])
  const name = `${event} ${entry}`
  if (event === 'balance.opened') {
    return finding(
      'no_transaction',
      `${name} names no block, or one after the books of this wallet began.`,
    )
  }
  if (tx === null) {
    return finding('no_transaction', `${name} moves the wallet and names no transaction.`)
  }
  if (open.takenBy !== null) {
    return finding(
      'booked_twice',
      `What the transaction moved is booked already, by ${open.takenBy}; ${name} books it again.`,
    )
  }
  if (open.gone !== null) {
    return finding(
      'reorganised',
      `The transfer of ${name} was on the chain, and a reorganisation took it away.`,
      `reorganised transfer ${open.gone}`,
    )
  }
  if (at >= finalSince) return waits({ what: 'not_final', amount, id: entry, tx })
  return finding(
    'missing_on_chain',
    `${name} should be final by now, and the chain has no such transfer.`,
  )
}

const reorganised = ({ id, tx, block, amount }: GoneTransfer): Finding => ({
  kind: 'reorganised',
  fact: `reorganised transfer ${id}`,
  amount: -amount,
  reason: 'An exception was booked for a transfer, and a reorganisation took the transfer away.',
  tx,
  block,
  transfer: id,
})

/** Both accounts are one wallet of the chain, so that the balances agree all the same. */
function judgeTransit({ entry, amount, confirmed, row, tx }: TransitItem): Judgement {
  if (confirmed === 0n) return waits({ what: 'unconfirmed', amount: 0n, id: entry, tx })
  const [sent, received] = [priceTag(confirmed), priceTag(amount + confirmed)]
  const reason = `${entry} was confirmed with ${sent}, received with ${received}.`
  const fact = `amount_differs entry ${row} in transit`
  return found([{ kind: 'amount_differs', fact, amount: 0n, reason, tx, entry: row }])
}

const unexplained = ({ wallet, chain, ledger }: Case, rest: bigint): Finding => ({
  kind: 'balance_differs',
  fact: `balance_differs ${wallet} ${rest}`,
  amount: rest,
  reason: `The chain has ${priceTag(chain)} and the books have ${priceTag(ledger)}; \
${priceTag(rest)} of the difference is explained by nothing.`,
})

const verb = (amount: bigint): string => (amount > 0n ? 'brought' : 'took')
const size = (amount: bigint): string => priceTag(amount < 0n ? -amount : amount)
