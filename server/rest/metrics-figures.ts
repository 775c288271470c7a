import { Gauge, Registry } from 'prom-client'
import { within } from '../../core/clock.ts'
import {
  type Holdings,
  type HoldingsPorts,
  holdings,
} from '../../core/payments/operations/holdings.ts'
import {
  type LedgerFigures,
  ledgerFigures,
  OPEN_STATES,
  type OpenPayments,
  openPayments,
  outflowToday,
} from '../../core/payments/operations/overview.ts'
import { OutgoingSwitch } from '../../core/payments/operations/switch.ts'

/** A collector gives up after ten seconds. */
const PATIENCE_MS = 6_000

/**
 * The figures of this instant in Prometheus' text format. What cannot be read is left out, and
 * `hub_database_up` or `hub_chain_up` says so: an old figure would look like a new one.
 */
export async function figures(ports: HoldingsPorts): Promise<string> {
  const registry = new Registry()
  const read = await within(PATIENCE_MS, readAll(ports))
  one(registry, 'hub_database_up', 'Whether the database answers.', read ? 1 : 0)
  if (read) {
    tellPayments(registry, read)
    tellWallets(registry, read.wallets)
    tellLedger(registry, read.ledger)
  }
  return registry.metrics()
}

interface Reading {
  readonly open: readonly OpenPayments[]
  readonly paused: boolean
  readonly outflow: bigint
  readonly wallets: Holdings
  readonly ledger: LedgerFigures
}

async function readAll(ports: HoldingsPorts): Promise<Reading> {
  const { pool } = ports
  const [open, state, today, wallets, ledger] = await Promise.all([
    openPayments(pool),
    new OutgoingSwitch(pool).state(),
    outflowToday(pool),
    holdings(ports),
    ledgerFigures(pool),
  ])
  return { open, paused: state?.paused ?? false, outflow: today.platform, wallets, ledger }
}

function tellPayments(registry: Registry, { open, paused, outflow }: Reading): void {
  const states = (['in', 'out'] as const).flatMap((direction) =>
    OPEN_STATES[direction].map((state) => {
      const found = open.find((each) => each.direction === direction && each.state === state)
      return [{ direction, state }, found?.count ?? 0n] as const
    }),
  )
  const oldest = open.map(({ oldestSeconds }) => oldestSeconds)
  const name = 'hub_unresolved_payments'
  many(registry, name, 'Payments whose outcome or finality is open.', states)
  const age = 'hub_unresolved_payment_oldest_seconds'
  one(registry, age, 'Age of the oldest of them; 0: there is none.', Math.max(0, ...oldest))
  const switched = 'hub_outgoing_paused'
  one(registry, switched, 'Whether payments to sellers are paused.', paused ? 1 : 0)
  const out = 'hub_outflow_today_microdollars'
  one(registry, out, 'Signed for sellers in this UTC day, less what none took.', outflow)
}

function tellWallets(registry: Registry, { chain, books, gas }: Holdings): void {
  one(registry, 'hub_chain_up', 'Whether the node of the chain answers.', chain ? 1 : 0)
  const named = (of: { readonly treasury: bigint; readonly spend: bigint }) =>
    (['treasury', 'spend'] as const).map((wallet) => [{ wallet }, of[wallet]] as const)
  if (chain) {
    many(registry, 'hub_wallet_usdc_microdollars', 'USDC on chain.', named(chain))
    if (chain.gas !== undefined) one(registry, 'hub_gas_gwei', 'ETH for gas on chain.', chain.gas)
  }
  many(registry, 'hub_ledger_wallet_microdollars', 'USDC by the books.', named(books))
  const differences = 'hub_ledger_exceptions'
  many(registry, differences, 'Unexplained differences to the chain.', named(books.exceptions))
  if (gas) one(registry, 'hub_gas_low', 'Whether the gas wallet needs ETH soon.', gas.low ? 1 : 0)
}

function tellLedger(registry: Registry, { entries, holds }: LedgerFigures): void {
  one(registry, 'hub_ledger_entries', 'Entries of the journal.', entries)
  one(registry, 'hub_ledger_holds_microdollars', 'Held for calls under way.', holds)
}

type Labels = Readonly<Record<string, string>>
type Figure = number | bigint

const one = (registry: Registry, name: string, help: string, value: Figure): void =>
  many(registry, name, help, [[{}, value]])

function many(
  registry: Registry,
  name: string,
  help: string,
  values: readonly (readonly [Labels, Figure])[],
): void {
  const labelNames = Object.keys(values[0]?.[0] ?? {})
  const gauge = new Gauge({ name, help, labelNames, registers: [registry] })
  for (const [labels, value] of values) gauge.set({ ...labels }, Number(value))
}
