import type { Pool, PoolClient } from 'pg'
import { z } from 'zod'
import type { KeyManager } from '../../../core/identity/sub-keys.ts'
import {
  type AllowanceDeps,
  changeKeyLimits,
  type LimitChange,
} from '../../../core/usage/key-limits.ts'
import { slug } from '../fields.ts'
import { inputFault } from '../input-errors.ts'

const limit = z.int().min(1).max(Number.MAX_SAFE_INTEGER).nullable()

/** Limits of a sub-key, as requests and responses have them. */
export const LIMITS = {
  max_call_microdollars: limit.meta({ description: 'Limit per call.' }),
  max_day_microdollars: limit.meta({ description: 'Limit per UTC day.' }),
  max_total_microdollars: limit.meta({ description: 'Total limit.' }),
  services: z
    .array(slug)
    .min(1)
    .max(100)
    .nullable()
    .meta({ description: 'Services that the key may call. null: all.' }),
  expires_at: z.iso.datetime().nullable(),
  sees_main_key: z.boolean().meta({
    description:
      'true: also sees the balance and all movements of its main key, if its parent does. ' +
      'Default: only itself and its sub-keys.',
  }),
}

type LimitsJson = z.infer<z.ZodObject<typeof LIMITS>>
export type LimitsBody = { readonly [K in keyof LimitsJson]?: LimitsJson[K] | undefined }

const ofText = <T>(
  value: string | number | null | undefined,
  convert: (value: string | number) => T,
): T | null | undefined => (value == null ? value : convert(value))

const toChange = (body: LimitsBody): LimitChange => ({
  maxCall: ofText(body.max_call_microdollars, BigInt),
  maxDay: ofText(body.max_day_microdollars, BigInt),
  maxTotal: ofText(body.max_total_microdollars, BigInt),
  services: body.services,
  expiresAt: ofText(body.expires_at, (text) => new Date(text)),
  seesMainKey: body.sees_main_key,
})

/**
 * Changes the limits that a request names, in a transaction of the caller.
 * @throws Fault `not_found`, `validation_failed`
 */
export async function changeLimits(
  client: PoolClient,
  deps: AllowanceDeps,
  manager: KeyManager,
  keyId: string,
  body: LimitsBody,
): Promise<void> {
  await assertServicesExist(client, body.services)
  const change = toChange(body)
  if (Object.values(change).every((value) => value === undefined)) return
  await changeKeyLimits(client, deps, manager, keyId, change)
}

/** @throws Fault `validation_failed` that names a service that does not exist */
export async function assertServicesExist(
  database: Pool | PoolClient,
  slugs: readonly string[] | null | undefined,
): Promise<void> {
  if (!slugs) return
  const { rows } = await database.query<{ slug: string }>(
    'SELECT slug FROM hub.service WHERE slug = ANY ($1)',
    [slugs],
  )
  const unknown = slugs.findIndex((slug) => !rows.some((row) => row.slug === slug))
  if (unknown !== -1) {
    throw inputFault(`/services/${unknown}`, `there is no service "${slugs[unknown]}"`)
  }
}
