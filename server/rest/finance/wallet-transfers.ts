import { z } from 'zod'
import {
  type PostedTransfers,
  postWalletTransfers,
  previewWalletTransfers,
  type WalletTransferDeps,
} from '../../../core/finance/wallet-transfers.ts'
import { json } from '../../../core/money.ts'
import type { Hex } from '../../../core/payments/chain/asset.ts'
import { auditReason } from '../reason.ts'
import { type AnyRoute, parse, route, staffOf } from '../route.ts'

const transactionHash = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, '0x and 64 hexadecimal digits')
  .transform((text) => text.toLowerCase() as Hex)

const WalletTransfers = z.object({
  transaction: z.string(),
  block: z.int(),
  time: z.iso.datetime(),
  booked: z.boolean().meta({ description: 'Whether the books have all of it.' }),
  entries: z.array(
    z.object({
      entry_id: z.uuid(),
      from: z.string(),
      to: z.string(),
      amount: z.int().meta({ description: 'Microdollars, or gwei.' }),
      asset: z.enum(['USDC', 'GWEI']),
    }),
  ),
})

export type WalletTransfersJson = z.infer<typeof WalletTransfers>

/** Money of the house that goes from one of its wallets to another. */
export const walletTransferRoutes = (ports: WalletTransferDeps): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/finance/transfers/{transaction}',
    summary: 'What a transaction moved between wallets of the house, as it is or would be booked.',
    auth: 'finance',
    response: { status: 200, schema: WalletTransfers },
    faults: ['not_booked', 'chain_unavailable', 'validation_failed'],
    handle: async ({ params }) => {
      const tx = parse(z.object({ transaction: transactionHash }), params).transaction
      const made = await previewWalletTransfers(ports, tx)
      return { body: showTransfers(tx, made, !made.fresh) }
    },
  }),
  route({
    method: 'POST',
    path: '/v1/finance/transfers',
    summary:
      'Books what a transaction moved between treasury and spend wallet, or brought for gas.',
    auth: 'finance',
    body: z.strictObject({ transaction: transactionHash, reason: auditReason }),
    example: { transaction: `0x${'ab'.repeat(32)}`, reason: 'October for the spend wallet' },
    response: {
      status: 201,
      or: 200,
      location: '/v1/finance/transfers/{transaction}',
      schema: WalletTransfers,
    },
    faults: ['not_booked', 'chain_unavailable'],
    handle: async (request) => {
      const { transaction: tx, reason: why } = request.body
      const made = await postWalletTransfers(ports, staffOf(request), tx, why)
      return { status: made.fresh ? 201 : 200, body: showTransfers(tx, made, true) }
    },
  }),
]

const showTransfers = (tx: Hex, made: PostedTransfers, booked: boolean): WalletTransfersJson => ({
  transaction: tx,
  block: json(made.block),
  time: made.time.toISOString(),
  booked,
  entries: made.entries.map(({ id, amount, ...entry }) => ({
    entry_id: id,
    ...entry,
    amount: json(amount),
  })),
})
