import { z } from 'zod'
import { FURTHER_ASSETS, type Hex } from '../payments/chain/asset.ts'
import { ConfigError } from '../runtime/config-error.ts'

const hash = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, 'not a hash: 0x and 64 hex digits')
  .transform((text) => text as Hex)
const address = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, 'not an address: 0x and 40 hex digits')
  .transform((text) => text as Hex)

/**
 * Payments that end unused are watched for at least a minute after their validity
 * (`takeUnfinished` of core/payments/receiving/claims.ts): by then, one that was taken in its last
 * second must be final. Blocks take about two seconds.
 */
const CONFIRMATIONS_MAX = 15

/** A network besides Base on which callers can pay. A sandbox only needs its name. */
const NetworkEntry = z.strictObject({
  network: z.enum(FURTHER_ASSETS.map(({ network }) => network)),
  rpc: z.url({ protocol: /^https?$/ }).optional(),
  genesis: hash.optional(),
  facilitator: z.url({ protocol: /^https?$/ }).optional(),
  token: z.string().optional(),
  treasury: address.optional(),
  confirmations: z.int().min(1).max(CONFIRMATIONS_MAX).optional(),
})
type NetworkEntry = z.infer<typeof NetworkEntry>

/** A network with everything that real money needs. */
export type ProductionNetwork = {
  readonly [Name in Exclude<keyof NetworkEntry, 'token'>]-?: NonNullable<NetworkEntry[Name]>
} & Pick<NetworkEntry, 'token'>

/** Value of `HUB_X402_NETWORKS`: a JSON list, each network once. */
export const paymentNetworks = z
  .string()
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text)
    } catch {
      context.addIssue('not a JSON list, such as [{"network":"eip155:137"}]')
      return z.NEVER
    }
  })
  .pipe(
    z
      .array(NetworkEntry)
      .refine(
        (list) => new Set(list.map(({ network }) => network)).size === list.length,
        'names a network twice',
      ),
  )

const NEEDED = ['rpc', 'genesis', 'facilitator', 'treasury', 'confirmations'] as const

/** @throws ConfigError for a network without something that real money needs */
export function productionNetworks(entries: readonly NetworkEntry[]): readonly ProductionNetwork[] {
  for (const entry of entries) {
    const missing = NEEDED.filter((name) => entry[name] === undefined)
    if (missing.length > 0) {
      throw new ConfigError(`HUB_X402_NETWORKS: ${entry.network} needs ${missing.join(', ')} too.`)
    }
  }
  return entries as readonly ProductionNetwork[]
}

/** Returns the URLs and tokens in a list of networks; none of any other text. */
export function networkSecrets(text: string): readonly string[] {
  const { success, data } = paymentNetworks.safeParse(text)
  if (!success) return []
  return data.flatMap(({ rpc, facilitator, token }) =>
    [rpc, facilitator, token].flatMap((one) => one ?? []),
  )
}
