import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import { json } from '../../../core/money.ts'
import {
  readWalletBalances,
  type WalletBalancesDeps,
} from '../../../core/payments/operations/wallet-balances.ts'
import { type AnyRoute, route } from '../route.ts'

const microdollars = z.int()
const Wallet = z.object({
  address: z.string(),
  chain_microdollars: microdollars.nullable().meta({ description: 'null: the node is silent.' }),
  books_microdollars: microdollars.meta({ description: 'What is in transit included.' }),
  in_transit_microdollars: microdollars.meta({
    description: 'Received, or signed for sellers and providers; and not final yet.',
  }),
  difference_microdollars: microdollars.nullable().meta({
    description: 'chain less books. Payments that are under way account for some of it.',
  }),
  exceptions: z.int().meta({ description: 'Differences that nobody has accounted for.' }),
})
const gwei = z.int()

const Wallets = z.object({
  chain: z.enum(['ok', 'unavailable']),
  block: z.int().nullable(),
  block_time: z.iso.datetime().nullable(),
  looked_at: z.iso.datetime(),
  treasury: Wallet,
  spend: Wallet,
  gas: z
    .object({
      address: z.string(),
      chain_gwei: gwei.nullable(),
      books_gwei: gwei,
      difference_gwei: gwei.nullable(),
      low: z.boolean().nullable().meta({ description: 'It needs ETH soon; null: not known yet.' }),
    })
    .nullable()
    .meta({ description: 'null: somebody else settles, and pays for it.' }),
})

export type WalletsJson = z.infer<typeof Wallets>

export type WalletsDeps = WalletBalancesDeps & { readonly clock: Clock }

/** The wallets of the house, by the chain and by the books. */
export const walletsRoutes = (ports: WalletsDeps): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/finance/wallets',
    summary: 'What the wallets of the house hold, on chain and in the books.',
    auth: 'finance',
    response: { status: 200, schema: Wallets },
    handle: async () => ({ body: await showWallets(ports) }),
  }),
]

async function showWallets(ports: WalletsDeps): Promise<z.infer<typeof Wallets>> {
  const { chain, books, gas } = await readWalletBalances(ports)
  const { exceptions } = books
  const wallet = (name: 'treasury' | 'spend', inTransit: bigint) => ({
    address: ports[name],
    chain_microdollars: jsonOrNull(chain?.[name]),
    books_microdollars: json(books[name]),
    in_transit_microdollars: json(inTransit),
    difference_microdollars: jsonOrNull(chain && chain[name] - books[name]),
    exceptions: json(exceptions[name]),
  })
  return {
    chain: chain ? 'ok' : 'unavailable',
    block: jsonOrNull(chain?.block),
    block_time: chain?.time.toISOString() ?? null,
    looked_at: ports.clock.now().toISOString(),
    treasury: wallet('treasury', books.received),
    spend: wallet('spend', books.signed),
    gas: ports.gas
      ? {
          address: ports.gas.address,
          chain_gwei: jsonOrNull(chain?.gas),
          books_gwei: json(books.gas),
          difference_gwei: jsonOrNull(chain?.gas === undefined ? undefined : chain.gas - books.gas),
          low: gas?.low ?? null,
        }
      : null,
  }
}

const jsonOrNull = (amount: bigint | undefined): number | null =>
  amount === undefined ? null : json(amount)
