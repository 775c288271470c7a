import { z } from 'zod'
import type { AnyService } from '../plugin.ts'

/** What a declaration must look like, beyond what its types say. */
const Declaration = z.object({
  slug: z.string().regex(/^[a-z0-9][a-z0-9-]{0,38}[a-z0-9]$/, '2 to 40 of a-z, 0-9, inner hyphens'),
  name: z.string().min(1).max(100),
  category: z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, 'lower case letters, digits and hyphens'),
  summary: z.string().min(1).max(500),
  provider: z.string().regex(/^[a-z0-9][a-z0-9-]{0,38}[a-z0-9]$/),
  freeCallsPerMonth: z.int().min(0).max(1_000_000).optional(),
  endpoints: z
    .record(
      z.string().regex(/^(GET|POST|PUT|PATCH|DELETE) \/[A-Za-z0-9/_.~-]*$/, 'METHOD /path'),
      z.looseObject({
        summary: z.string().min(1).max(500),
        price: z.union([z.bigint().min(0n), z.looseObject({ max: z.bigint().min(0n) })]),
        deadlineSeconds: z.int().min(1).max(300).optional(),
        streams: z.boolean().optional(),
      }),
    )
    .refine((endpoints) => Object.keys(endpoints).length > 0, 'at least one endpoint'),
  schedules: z
    .record(
      z.string().regex(/^[a-z][a-z-]{0,39}$/, 'lower case letters and hyphens'),
      z.looseObject({
        everySeconds: z.int().min(1).max(86_400),
        deadlineSeconds: z.int().min(1).max(21_600).optional(),
      }),
    )
    .optional(),
})

/** Slugs that mean something else on some door. */
const RESERVED = new Set(['external', 'health', 'mcp', 'v1', 'docs', 'proxy', 'admin'])

/**
 * Checks a declaration.
 * @param privileged whether it may have a slug that is reserved
 * @throws Error that names the service, the field and what is wrong with it
 */
export function declare(service: AnyService, privileged = false): AnyService {
  const checked = Declaration.safeParse(service)
  if (!checked.success) {
    const [issue] = checked.error.issues
    throw new Error(
      `service ${service.slug}: ${issue?.path.join(' → ')}: ${issue?.message ?? 'not valid'}`,
    )
  }
  if (!privileged && RESERVED.has(service.slug)) {
    throw new Error(`service ${service.slug}: the slug is reserved`)
  }
  return service
}
