import { z } from 'zod'
import {
  type PostedTransfers,
  postWalletTransfers,
  previewWalletTransfers,
  type TransferDeps,
} from '../../../core/finance/wallet-transfers.ts'
import { json } from '../../../core/money.ts'
import type { Hex } from '../../../core/payments/chain/asset.ts'
import { auditReason, transactionHash } from '../fields.ts'
import { type AnyRoute, parse, route, staffOf } from '../route.ts'

const WalletTransfers = z.object({
  transaction: z.string(),
  block: z.int(),
  time: z.iso.datetime(),
  booked: z.boolean().meta({ description: 'True if the ledger contains all of these transfers.' }),
  entries: z.array(
    z.object({
      entry_id: z.uuid(),
      from: z.string(),
      to: z.string(),
      amount: z.int().meta({ description: 'Microdollars or gwei.' }),
      asset: z.enum(['USDC', 'GWEI']),
    }),
  ),
})

export type WalletTransfersJson = z.infer<typeof WalletTransfers>

export const walletTransferRoutes = (deps: TransferDeps): readonly AnyRoute[] => [
  route('GET /v1/finance/transfers/{transaction}', {
    summary: 'Returns the transfers of a transaction between platform wallets, posted or not.',
    auth: 'finance',
    response: { status: 200, schema: WalletTransfers },
    faults: ['not_booked', 'chain_unavailable', 'validation_failed'],
    handle: async ({ params }) => {
      const tx = parse(z.object({ transaction: transactionHash }), params).transaction
      const made = await previewWalletTransfers(deps, tx)
      return { body: showTransfers(tx, made, !made.fresh) }
    },
  }),
  route('POST /v1/finance/transfers', {
    summary: 'Posts transfers between platform wallets or gas funding, or proposes to (202).',
    auth: 'finance',
    body: z.strictObject({ transaction: transactionHash, reason: auditReason }),
    example: { transaction: `0x${'ab'.repeat(32)}`, reason: 'October for the spend wallet' },
    response: {
      status: 201,
      or: [200, 202],
      location: '/v1/finance/transfers/{transaction}',
      schema: WalletTransfers,
    },
    faults: ['not_booked', 'chain_unavailable', 'own_account'],
    handle: async (request) => {
      const { transaction: tx, reason } = request.body
      const made = await postWalletTransfers(deps, staffOf(request), tx, reason)
      const isPosted = made.state === 'booked'
      const status = isPosted ? (made.fresh ? 201 : 200) : 202
      return { status, body: showTransfers(tx, made, isPosted) }
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
