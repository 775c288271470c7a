import { z } from 'zod'
import type { UpstreamMeter } from '../../../../core/plugin/upstreams.ts'
import { inputFault } from '../../input-errors.ts'

/** Largest body in which a JSON Pointer is looked up, because it is parsed in the process. */
const POINTER_BYTES_MAX = 1_048_576
const AMOUNT_MAX = 1_000_000_000

/** Price by usage, which responses of the API report. */
export const MeteredField = z
  .strictObject({
    unit: z
      .string()
      .regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be lower-case letters, digits and hyphens')
      .meta({ description: 'What is counted, in the plural: tokens.' }),
    amount_microdollars: z.int().min(1).max(AMOUNT_MAX).meta({
      description: 'Price of `per` units.',
    }),
    per: z.int().min(1).max(AMOUNT_MAX).default(1),
    header: z
      .string()
      .max(100)
      .regex(/^[A-Za-z0-9_-]+$/, 'must be the name of a header')
      .optional()
      .meta({ description: 'Response header with the number of units.' }),
    pointer: z
      .string()
      .max(300)
      .regex(/^\/(?:[^~]|~[01])*$/, 'must be a JSON Pointer')
      .optional()
      .meta({ description: 'JSON Pointer to the number of units: /usage/total_tokens.' }),
    if_absent: z
      .enum(['fail', 'maximum', 'free'])
      .default('fail')
      .meta({
        description:
          'A response without usage is not charged and fails (fail), or costs the maximum, or ' +
          'nothing (free). Anything but a natural number fails.',
      }),
  })
  .refine(({ header, pointer }) => (header === undefined) !== (pointer === undefined), {
    error: 'must have either header or pointer',
  })

type MeteredOrder = z.infer<typeof MeteredField>

/** Metered price as it is stored, with the name of a header in lower case. */
export const toMeter = (order: MeteredOrder): UpstreamMeter => ({
  unit: order.unit,
  amount: order.amount_microdollars,
  per: order.per,
  ...(order.header !== undefined && { header: order.header.toLowerCase() }),
  ...(order.pointer !== undefined && { pointer: order.pointer }),
  ifAbsent: order.if_absent,
})

export const showMeter = (meter: UpstreamMeter | null) =>
  meter && {
    unit: meter.unit,
    amount_microdollars: meter.amount,
    per: meter.per,
    ...(meter.header !== undefined && { header: meter.header }),
    ...(meter.pointer !== undefined && { pointer: meter.pointer }),
    if_absent: meter.ifAbsent,
  }

/** @throws Fault `validation_failed` if the usage cannot be read, or no unit be paid */
export function assertMeterable(endpoint: MeteredEndpoint, at: string): void {
  const { metered, price_microdollars: max } = endpoint
  if (!metered) return
  const { pointer, amount_microdollars: amount, per } = metered
  if (max !== undefined && BigInt(max) * BigInt(per) < BigInt(amount))
    throw inputFault(`${at}/price_microdollars`, 'is the maximum, which must cover one unit')
  assertUsageReadable(endpoint, pointer, at)
}

/** @throws Fault `validation_failed` if the responses of an endpoint have no place for a pointer */
export function assertUsageReadable(
  { streams, max_bytes: maxBytes }: MeteredEndpoint,
  pointer: string | undefined,
  at: string,
): void {
  if (pointer === undefined) return
  if (streams) throw inputFault(`${at}/metered`, 'pointer is not supported for streams: use header')
  if (maxBytes > POINTER_BYTES_MAX)
    throw inputFault(`${at}/max_bytes`, `must be at most ${POINTER_BYTES_MAX} with a pointer`)
}

export interface MeteredEndpoint {
  readonly metered?: MeteredOrder | null | undefined
  readonly price_microdollars?: number | undefined
  readonly streams: boolean
  readonly max_bytes: number
}
