import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { json, micros } from '../../../core/money.ts'
import { createTransferChallenge, executeKeyTransfer } from '../../../core/usage/key-transfers.ts'
import { keyId } from '../fields.ts'
import { type AnyRoute, managerOf, route } from '../route.ts'
import {
  ChallengeView,
  SignedChallenge,
  type SigningDeps,
  showChallenge,
  signatureFaults,
} from './registration.ts'

const KeyTransfer = z.object({
  transfer_id: z.string().meta({ description: 'Id of the entry in /v1/credits/history.' }),
  from_key_id: z.string(),
  to_key_id: z.string(),
  amount_microdollars: z.int(),
  balance_microdollars: z.int().meta({ description: 'Remaining credits of the sending key.' }),
})

/** Transfers of credits between main keys of one wallet. The wallet signs each transfer. */
export const keyTransferRoutes = ({
  pool,
  ledger,
  site,
  contracts,
  clock,
}: SigningDeps & { readonly clock: Clock }): readonly AnyRoute[] => [
  route('POST /v1/credits/transfers/challenge', {
    summary: 'Creates the message to sign for a credit transfer between main keys of one wallet.',
    auth: 'owner',
    body: z.strictObject({
      from_key_id: keyId,
      to_key_id: keyId,
      amount_microdollars: z.int().min(1).max(Number.MAX_SAFE_INTEGER),
    }),
    repeatable: true,
    response: { status: 201, schema: ChallengeView },
    faults: ['not_found', 'frozen_key'],
    handle: async (request) => {
      const { from_key_id: from, to_key_id: to, amount_microdollars: amount } = request.body
      const id = uuidv7(clock.now().getTime())
      const order = { id, from, to, amount: micros(amount) }
      const challenge = await createTransferChallenge(pool, site, managerOf(request), order)
      return { status: 201, body: showChallenge(challenge) }
    },
  }),
  route('POST /v1/credits/transfers', {
    summary: 'Executes a signed credit transfer. Repeated requests transfer once.',
    auth: 'owner',
    body: SignedChallenge,
    repeatable: true,
    response: { status: 201, schema: KeyTransfer },
    faults: [...signatureFaults(contracts), 'insufficient_credits', 'frozen_key'],
    handle: async ({ body }) => {
      const done = await executeKeyTransfer({ pool, ledger }, body, contracts)
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
