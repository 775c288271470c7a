import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { json, micros } from '../../../core/money.ts'
import { askToTransfer, transfer } from '../../../core/usage/key-transfers.ts'
import { type AnyRoute, managerOf, route } from '../route.ts'
import {
  ChallengeBody,
  nonce,
  type SigningPorts,
  showChallenge,
  signature,
  signedFaults,
} from './registration.ts'

const keyId = z.string().regex(/^key_[0-9A-Za-z]{16}$/, 'not the id of a key')

const Transferred = z.object({
  transfer_id: z.string().meta({ description: 'Of its entry in /v1/credits/history.' }),
  from_key_id: z.string(),
  to_key_id: z.string(),
  amount_microdollars: z.int(),
  balance_microdollars: z.int().meta({ description: 'What the first key has left.' }),
})

/** Credits between the roots of one wallet, by a signature of the wallet for each transfer. */
export const transferRoutes = ({
  pool,
  ledger,
  site,
  contracts,
  clock,
}: SigningPorts & { readonly clock: Clock }): readonly AnyRoute[] => [
  route({
    method: 'POST',
    path: '/v1/credits/transfers/challenge',
    summary: 'The message to sign for a transfer of credits between two roots of one wallet.',
    auth: 'owner',
    body: z.strictObject({
      from_key_id: keyId,
      to_key_id: keyId,
      amount_microdollars: z.int().min(1).max(Number.MAX_SAFE_INTEGER),
    }),
    answer: { status: 201, schema: ChallengeBody },
    faults: ['not_found', 'frozen_key'],
    handle: async (request) => {
      const { from_key_id: from, to_key_id: to, amount_microdollars: amount } = request.body
      const id = uuidv7(clock.now().getTime())
      const order = { id, from, to, amount: micros(amount) }
      const challenge = await askToTransfer(pool, site, managerOf(request), order)
      return { status: 201, body: showChallenge(challenge) }
    },
  }),
  route({
    method: 'POST',
    path: '/v1/credits/transfers',
    summary: 'Moves the credits that the wallet has signed for, once however often it is sent.',
    auth: 'owner',
    body: z.strictObject({ nonce, signature }),
    answer: { status: 201, schema: Transferred },
    faults: [...signedFaults(contracts), 'insufficient_credits', 'frozen_key'],
    handle: async ({ body }) => {
      const done = await transfer({ pool, ledger }, body, contracts)
      return {
        status: 201,
        body: {
          transfer_id: done.id,
          from_key_id: done.from,
          to_key_id: done.to,
          amount_microdollars: json(done.amount),
          balance_microdollars: json(done.balance),
        },
      }
    },
  }),
]
