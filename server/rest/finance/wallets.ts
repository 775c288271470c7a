import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import { json } from '../../../core/money.ts'
import {
  type BalancesDeps,
  type ChainBalances,
  readChainBalances,
  readWalletBalances,
} from '../../../core/payments/operations/wallet-balances.ts'
import { refreshedAfter } from '../../../core/runtime/cache.ts'
import { type AnyRoute, route } from '../route.ts'

const microdollars = z.int()
const Wallet = z.object({
  address: z.string(),
  chain_microdollars: microdollars
    .nullable()
    .meta({ description: 'Balance on chain. null: the node does not respond.' }),
  books_microdollars: microdollars.meta({
    description: 'Ledger balance, including amounts in transit.',
  }),
  in_transit_microdollars: microdollars.meta({
    description: 'Received, or signed for sellers and providers, but not final yet.',
  }),
  difference_microdollars: microdollars.nullable().meta({
    description: 'Chain minus ledger. Pending payments explain some of it.',
  }),
  exceptions: z.int().meta({ description: 'Unresolved differences.' }),
})
const gwei = z.int()

const Wallets = z.object({
  chain: z.enum(['ok', 'unavailable']),
  block: z.int().nullable(),
  block_time: z.iso.datetime().nullable(),
  looked_at: z.iso.datetime(),
  treasury: Wallet,
  spend: Wallet,
  networks: z
    .array(z.object({ network: z.string(), treasury: Wallet }))
    .meta({ description: 'Further networks on which callers can pay, by their CAIP-2 name.' }),
  gas: z
    .object({
      address: z.string(),
      chain_gwei: gwei.nullable(),
      books_gwei: gwei,
      difference_gwei: gwei.nullable(),
      low: z.boolean().nullable().meta({ description: 'True: needs ETH soon. null: unknown.' }),
    })
    .nullable()
    .meta({ description: 'Gas wallet. null: an external facilitator settles and pays for gas.' }),
})

export type WalletsJson = z.infer<typeof Wallets>

export type WalletsDeps = BalancesDeps & { readonly clock: Clock }

/** Recent balances on chain are at most twice as old. */
const RECENT_MS = 5_000

/** @param now of the cache, for tests */
export const walletsRoutes = (deps: WalletsDeps, now?: () => number): readonly AnyRoute[] => {
  const readRecent = refreshedAfter(RECENT_MS, () => readChainBalances(deps), now)
  return [
    route('GET /v1/finance/wallets', {
      summary: 'Returns the balances of the platform wallets, on chain and in the ledger.',
      auth: 'finance',
      query: z.strictObject({
        chain: z.enum(['now', 'recent']).default('now').meta({
          description: 'recent: balances on Base may be up to 10 s old, as `block_time` says.',
        }),
      }),
      response: { status: 200, schema: Wallets },
      handle: async ({ query }) => ({
        body: await showWallets(deps, query.chain === 'recent' ? readRecent : undefined),
      }),
    }),
  ]
}

async function showWallets(
  deps: WalletsDeps,
  readChain: (() => Promise<ChainBalances>) | undefined,
): Promise<z.infer<typeof Wallets>> {
  const { chain, ledger, gas, networks } = await readWalletBalances(deps, undefined, readChain)
  const { exceptions } = ledger
  const wallet = (name: 'treasury' | 'spend', inTransit: bigint) => ({
    address: deps[name],
    chain_microdollars: jsonOrNull(chain?.[name]),
    books_microdollars: json(ledger[name]),
    in_transit_microdollars: json(inTransit),
    difference_microdollars: jsonOrNull(chain && chain[name] - ledger[name]),
    exceptions: json(exceptions[name]),
  })
  return {
    chain: chain ? 'ok' : 'unavailable',
    block: jsonOrNull(chain?.block),
    block_time: chain?.time.toISOString() ?? null,
    looked_at: deps.clock.now().toISOString(),
    treasury: wallet('treasury', ledger.received),
    spend: wallet('spend', ledger.signed),
    networks: networks.map((each) => ({
      network: each.network,
      treasury: {
        address: each.address,
        chain_microdollars: jsonOrNull(each.chain),
        books_microdollars: json(each.ledger),
        in_transit_microdollars: json(each.received),
        difference_microdollars: jsonOrNull(
          each.chain === undefined ? undefined : each.chain - each.ledger,
        ),
        exceptions: json(each.exceptions),
      },
    })),
    gas: deps.gas
      ? {
          address: deps.gas.address,
          chain_gwei: jsonOrNull(chain?.gas),
          books_gwei: json(ledger.gas),
          difference_gwei: jsonOrNull(
            chain?.gas === undefined ? undefined : chain.gas - ledger.gas,
          ),
          low: gas?.low ?? null,
        }
      : null,
  }
}

const jsonOrNull = (amount: bigint | undefined): number | null =>
  amount === undefined ? null : json(amount)
