import { x402ResourceServer } from '@x402/core/server'
import { type PaymentRequirements, VerifyError } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { UptoEvmScheme } from '@x402/evm/upto/server'
import type { Asset, Network } from '../chain/asset.ts'
import { type Facilitator, FacilitatorUnavailable } from '../facilitators/facilitator.ts'
import { componentOn, type PaymentNetwork } from '../networks.ts'
import type { Payment } from './payment.ts'

/** Verifies and settles payments on one network. */
interface Gateway {
  readonly network: Network
  /**
   * Returns the requirement that a payment of version 2 accepted, unchanged but for the case of
   * addresses, which is only a checksum (EIP-55).
   */
  match(ours: PaymentRequirements[], payment: Payment): PaymentRequirements | undefined
  /**
   * Returns the reason for an invalid payment, else undefined.
   * @throws FacilitatorUnavailable
   */
  verify(payment: Payment, requirement: PaymentRequirements): Promise<string | undefined>
  readonly settle: Facilitator['settle']
  /** True if verification cannot settle: a service might settle at once what it is asked of. */
  readonly verifiesLocally: boolean
  /** Begins what the settlement needs from the node; sends nothing. */
  prepare(...payment: Parameters<Facilitator['settle']>): void
}

export interface Gateways {
  /** @throws RangeError for a requirement on a network without a gateway */
  of(requirement: PaymentRequirements): Gateway
}

/** Opens a gateway per network, each with its own facilitator. */
export function openGateways(
  networks: readonly Pick<PaymentNetwork, 'asset' | 'facilitator'>[],
): Gateways {
  const gateways = new Map<string, Gateway>(
    networks.map(({ asset, facilitator }) => [asset.network, createGateway(asset, facilitator)]),
  )
  return {
    of({ network }) {
      const gateway = gateways.get(network)
      if (!gateway) throw new RangeError(`no payment is accepted on the network ${network}`)
      return gateway
    },
  }
}

function createGateway({ network }: Asset, facilitator: Facilitator): Gateway {
  const server = new x402ResourceServer(facilitator)
    .register(network, new ExactEvmScheme())
    .register(network, new UptoEvmScheme())
  const oneByOne: Pick<Facilitator, 'verify' | 'settle'> = {
    verify: (...args) => server.verifyPayment(...args),
    settle: (...args) => server.settlePayment(...args),
  }
  const chosen = () => facilitator.batched ?? oneByOne
  return {
    network,
    match: (ours, payment) =>
      ours.find((one) => server.findMatchingRequirements([one], respell(payment, one))),
    async verify(payment, requirement) {
      const component = componentOn('facilitator', network)
      return verifyWith(chosen(), payment, requirement).catch((cause: unknown) => {
        if (cause instanceof FacilitatorUnavailable && cause.component === component) throw cause
        throw new FacilitatorUnavailable('The facilitator failed to verify.', { cause }, component)
      })
    },
    settle: (...args) => chosen().settle(...args),
    verifiesLocally: facilitator.batched !== undefined,
    prepare: (...args) => facilitator.batched?.prepare?.(...args),
  }
}

/** Returns the payment with the addresses of its terms in the letter case of the requirement. */
function respell(payment: Payment, { asset, payTo, extra }: PaymentRequirements): Payment {
  const { accepted } = payment
  const same = <Value>(theirs: Value, ours: unknown) =>
    typeof ours === 'string' && String(theirs).toLowerCase() === ours.toLowerCase()
      ? (ours as Value)
      : theirs
  const { facilitatorAddress } = accepted.extra
  return {
    ...payment,
    accepted: {
      ...accepted,
      asset: same(accepted.asset, asset),
      payTo: same(accepted.payTo, payTo),
      extra: {
        ...accepted.extra,
        ...(facilitatorAddress !== undefined && {
          facilitatorAddress: same(facilitatorAddress, extra['facilitatorAddress']),
        }),
      },
    },
  }
}

/** Returns the reason for an invalid payment. @throws what the facilitator throws otherwise */
async function verifyWith(
  facilitator: Pick<Facilitator, 'verify'>,
  payment: Payment,
  requirement: PaymentRequirements,
): Promise<string | undefined> {
  try {
    const { isValid, invalidReason } = await facilitator.verify(payment, requirement)
    return isValid ? undefined : (invalidReason ?? 'invalid_payload')
  } catch (error) {
    const isRefusal = error instanceof VerifyError && error.statusCode < 500
    if (isRefusal && error.invalidReason !== undefined) return error.invalidReason
    throw error
  }
}

/** Returns a requirement, and the same on the further networks, which have no metered prices. */
export function onEveryNetwork(
  first: PaymentRequirements,
  networks: readonly PaymentNetwork[],
): PaymentRequirements[] {
  if (first.scheme !== 'exact') return [first]
  const others = networks.map(({ asset: { network, address, name, version }, treasury }) => ({
    ...first,
    network,
    asset: address,
    payTo: treasury,
    extra: { ...first.extra, name, version },
  }))
  return [first, ...others]
}
