import { priceTag } from '../money.ts'
import type { UnmatchedItems } from './match.ts'
import type {
  Finding,
  GoneTransfer,
  OpenEntry,
  OpenTransfer,
  Pending,
  TransitItem,
  WalletName,
} from './types.ts'

/** State of a wallet as of the last block that was read. */
export interface WalletState extends UnmatchedItems {
  readonly wallet: WalletName
  /** Balance on chain after that block, in microdollars. */
  readonly chain: bigint
  /** Balance in the ledger, in microdollars. */
  readonly ledger: bigint
  /** The ledger of the wallet begins after this block. */
  readonly begin: bigint
  /** Entries posted before this instant must be on the chain by now. */
  readonly finalSince: Date
}

export interface DifferenceItems {
  readonly findings: readonly Finding[]
  readonly pending: readonly Pending[]
}

/**
 * Splits the difference between chain and ledger into items, each with a reason. Pure. The amounts
 * of all items add up to exactly the chain balance minus the ledger balance: any unexplained rest
 * is a finding of its own.
 */
export function explainDifference(state: WalletState): DifferenceItems {
  const posted = state.entries.filter((entry) => !isOpening(entry, state))
  const pairs = pairDifferingAmounts(posted, state.transfers)
  const paired = new Set(pairs.flatMap(([entry, transfer]) => [entry, transfer]))
  const transfers = state.transfers.filter((transfer) => !paired.has(transfer))
  const entries = posted.filter((entry) => !paired.has(entry))
  const items: DifferenceItems[] = [
    asFindings(pairs.map(([entry, transfer]) => amountDiffers(entry, transfer))),
    ...transfers.map(classifyTransfer),
    ...entries.map((entry) => classifyEntry(entry, state.finalSince)),
    asFindings(state.gone.map(reorganizedTransfer)),
    ...state.transit.map(classifyTransit),
  ]
  const findings = items.flatMap((each) => each.findings)
  const pending = items.flatMap((each) => each.pending)
  const explained = [...findings, ...pending].reduce((sum, { amount }) => sum + amount, 0n)
  const rest = state.chain - state.ledger - explained
  return { findings: rest === 0n ? findings : [...findings, unexplainedRest(state, rest)], pending }
}

const asFindings = (findings: readonly Finding[]): DifferenceItems => ({ findings, pending: [] })
const asPending = (pending: Pending): DifferenceItems => ({ findings: [], pending: [pending] })

/** Funds from before the ledger are included in the balance at the block named by the opening. */
const isOpening = ({ event, opensAt }: OpenEntry, { begin }: WalletState): boolean =>
  event === 'balance.opened' && opensAt !== null && opensAt <= begin

/** Pairs entries and transfers of the same transaction and direction with different amounts. */
function pairDifferingAmounts(
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

function amountDiffers(entry: OpenEntry, transfer: OpenTransfer): Finding {
  const verb = transfer.amount > 0n ? 'received' : 'sent'
  return {
    kind: 'amount_differs',
    fact: `amount_differs entry ${entry.id} transfer ${transfer.id}`,
    amount: transfer.amount - entry.amount,
    reason:
      `The transaction ${verb} ${absoluteAmount(transfer.amount)}, but ` +
      `${entry.event} ${entry.entry} records ${absoluteAmount(entry.amount)}.`,
    tx: transfer.tx,
    block: transfer.block,
    transfer: transfer.id,
    entry: entry.id,
  }
}

function classifyTransfer({ id, tx, block, amount, sender, recipient, awaits }: OpenTransfer) {
  if (awaits !== null) return asPending({ what: 'settling', amount, id: awaits, tx })
  const deposit = amount > 0n
  const kind = deposit ? 'unknown_deposit' : 'unknown_withdrawal'
  const reason = deposit
    ? `${sender} sent ${priceTag(amount)} that no entry and no open payment explains.`
    : `${priceTag(-amount)} was sent to ${recipient}; no entry and no open payment explains it.`
  return asFindings([
    { kind, fact: `${kind} transfer ${id}`, amount, reason, tx, block, transfer: id },
  ])
}

function classifyEntry(open: OpenEntry, finalSince: Date): DifferenceItems {
  const { id, event, entry, tx, at } = open
  const amount = -open.amount
  const finding = (kind: Finding['kind'], reason: string, fact = `${kind} entry ${id}`) =>
    asFindings([{ kind, fact, amount, reason, tx, entry: id }])
  const name = `${event} ${entry}`
  if (event === 'balance.opened') {
    return finding(
      'no_transaction',
      `${name} names no block, or a block after the ledger of this wallet began.`,
    )
  }
  if (tx === null) {
    return finding('no_transaction', `${name} changes the wallet but names no transaction.`)
  }
  if (open.takenBy !== null) {
    return finding(
      'booked_twice',
      `The transfer is already recorded by ${open.takenBy}; ${name} records it again.`,
    )
  }
  if (open.gone !== null) {
    return finding(
      'reorganised',
      `The transfer of ${name} was on the chain, but a reorganization removed it.`,
      `reorganised transfer ${open.gone}`,
    )
  }
  if (at >= finalSince) return asPending({ what: 'not_final', amount, id: entry, tx })
  return finding(
    'missing_on_chain',
    `${name} should be final by now, but the chain has no such transfer.`,
  )
}

const reorganizedTransfer = ({ id, tx, block, amount }: GoneTransfer): Finding => ({
  kind: 'reorganised',
  fact: `reorganised transfer ${id}`,
  amount: -amount,
  reason: 'An exception was posted for a transfer that a reorganization removed later.',
  tx,
  block,
  transfer: id,
})

/** Both accounts are one wallet on the chain: the balances agree regardless. */
function classifyTransit({ entry, amount, confirmed, row, tx }: TransitItem): DifferenceItems {
  if (confirmed === 0n) return asPending({ what: 'unconfirmed', amount: 0n, id: entry, tx })
  const [sent, received] = [priceTag(confirmed), priceTag(amount + confirmed)]
  const reason = `${entry} was confirmed with ${sent} but received with ${received}.`
  const fact = `amount_differs entry ${row} in transit`
  return asFindings([{ kind: 'amount_differs', fact, amount: 0n, reason, tx, entry: row }])
}

const unexplainedRest = ({ wallet, chain, ledger }: WalletState, rest: bigint): Finding => ({
  kind: 'balance_differs',
  fact: `balance_differs ${wallet} ${rest}`,
  amount: rest,
  reason:
    `The balance is ${priceTag(chain)} on chain and ${priceTag(ledger)} in the ledger; ` +
    `${priceTag(rest)} of the difference is unexplained.`,
})

const absoluteAmount = (amount: bigint): string => priceTag(amount < 0n ? -amount : amount)
