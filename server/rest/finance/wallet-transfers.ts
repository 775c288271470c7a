import { z } from 'zod'
import {
  type BookedTransfers,
  bookTransfers,
  foreseeTransfers,
  type TransferPorts,
} from '../../../core/finance/wallet-transfers.ts'
import { json } from '../../../core/money.ts'
import type { Hex } from '../../../core/payments/chain/asset.ts'
import { reason } from '../reason.ts'
import { type AnyRoute, parse, route, staffOf } from '../route.ts'

const transaction = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, '0x and 64 hexadecimal digits')
  .transform((text) => text.toLowerCase() as Hex)

const Transfers = z.object({
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

export type TransfersJson = z.infer<typeof Transfers>

/** Money of the house that goes from one of its wallets to another. */
export const transferBookingRoutes = (ports: TransferPorts): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/finance/transfers/{transaction}',
    summary: 'What a transaction moved between wallets of the house, as it is or would be booked.',
    auth: 'finance',
    answer: { status: 200, schema: Transfers },
    faults: ['not_booked', 'chain_unavailable', 'validation_failed'],
    handle: async ({ params }) => {
      const tx = parse(z.object({ transaction }), params).transaction
      const made = await foreseeTransfers(ports, tx)
      return { body: shown(tx, made, !made.fresh) }
    },
  }),
  route({
    method: 'POST',
    path: '/v1/finance/transfers',
    summary:
      'Books what a transaction moved between treasury and spend wallet, or brought for gas.',
    auth: 'finance',
    body: z.strictObject({ transaction, reason }),
    example: { transaction: `0x${'ab'.repeat(32)}`, reason: 'October for the spend wallet' },
    answer: {
      status: 201,
      or: 200,
      location: '/v1/finance/transfers/{transaction}',
      schema: Transfers,
    },
    faults: ['not_booked', 'chain_unavailable'],
    handle: async (request) => {
      const { transaction: tx, reason: why } = request.body
      const made = await bookTransfers(ports, staffOf(request), tx, why)
      return { status: made.fresh ? 201 : 200, body: shown(tx, made, true) }
    },
  }),
]

const shown = (tx: Hex, made: BookedTransfers, booked: boolean): TransfersJson => ({
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
