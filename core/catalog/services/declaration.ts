import { z } from 'zod'
import type { AnyService, Family, Schema, UnitPrice } from '../../plugin/index.ts'
import { coveredUnits } from '../../plugin/metered.ts'
import { pathIssue } from './paths.ts'

const Slug = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,38}[a-z0-9]$/, '2 to 40 of a-z, 0-9, inner hyphens')

const Schedules = z
  .record(
    z.string().regex(/^[a-z][a-z-]{0,39}$/, 'lower case letters and hyphens'),
    z.looseObject({
      everySeconds: z.int().min(1).max(86_400),
      deadlineSeconds: z.int().min(1).max(21_600).optional(),
    }),
  )
  .optional()

/** Returns true for a method and a path: `GET /jobs/{id}`. */
function isRoute(text: string): boolean {
  const [, path] = /^(?:GET|POST|PUT|PATCH|DELETE) (.*)$/s.exec(text) ?? []
  return path !== undefined && pathIssue(path) === undefined
}

const Unit = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, 'lower case letters, digits and hyphens')

/** Message about fields that a price does not have. @param fields those that it has */
const unknownField =
  (fields: string) =>
  (issue: z.core.$ZodRawIssue): string | undefined =>
    issue.code === 'unrecognized_keys'
      ? `unknown field ${issue.keys.join(', ')}: must be ${fields}`
      : undefined

/** The covered units are sent as JSON. A maximum that covers none could pay for nothing. */
const Metered = z
  .strictObject(
    {
      max: z.bigint().min(1n),
      unit: Unit,
      of: z.custom<UnitPrice>(
        (of) =>
          typeof of === 'function' &&
          'amount' in of &&
          'per' in of &&
          isUnitPrice(of.amount, of.per),
        'must be unitPrice(amount, units)',
      ),
    },
    { error: unknownField('{ max, unit, of }') },
  )
  .refine(
    ({ max, of }) => coveredUnits(max, of) >= 1n && coveredUnits(max, of) <= MAX_SAFE_UNITS,
    'the maximum must cover 1 to 2^53 - 1 units',
  )

const MAX_SAFE_UNITS = BigInt(Number.MAX_SAFE_INTEGER)

const isUnitPrice = (amount: unknown, per: unknown): boolean =>
  [amount, per].every((part) => typeof part === 'bigint' && part >= 1n && part <= MAX_SAFE_UNITS)

/** `unit` is only for metered prices. */
const Computed = z
  .strictObject(
    {
      max: z.bigint().min(0n),
      min: z.bigint().min(0n).optional(),
      unit: z.undefined().optional(),
      of: z.custom((of) => typeof of === 'function', 'of must be a function'),
    },
    { error: unknownField('{ max, min, of }') },
  )
  .refine(({ min = 0n, max }) => min <= max, 'the minimum must not exceed the maximum')

const Price = z.union([z.bigint().min(0n), Metered, Computed], {
  error: ({ input, errors }) => {
    const [, metered = [], computed = []] = errors ?? []
    const own = isObject(input) && 'unit' in input ? metered : computed
    const fault = own.find(({ code }) => code === 'unrecognized_keys' || code === 'custom')
    return fault?.message ?? "must be an amount, such as usd('0.001'), or { max, of }"
  },
})

/** Schemas of other libraries have other members. */
const InputSchema = z.custom<Schema<unknown>>(
  (schema) => isObject(schema) && isObject((schema as { json?: unknown }).json),
  'must be a schema of agenthub/plugin, such as s.object({})',
)

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** Constraints on a declaration, whose author may not have checked its TypeScript types. */
const Declaration = z.object({
  slug: Slug,
  name: z.string().min(1).max(100),
  category: z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, 'lower case letters, digits and hyphens'),
  summary: z.string().min(1).max(500),
  provider: z.string().regex(/^[a-z0-9][a-z0-9-]{0,38}[a-z0-9]$/),
  freeCallsPerMonth: z.int().min(0).max(1_000_000).optional(),
  freeUnitsPerMonth: z.record(Unit, z.int().min(1).max(1_000_000_000_000)).optional(),
  endpoints: z
    .record(
      z.string().refine(isRoute, "must be a method and a path, such as 'POST /count'"),
      z.looseObject({
        summary: z.string().min(1).max(500),
        price: Price,
        input: InputSchema,
        output: InputSchema.optional(),
        handle: z.custom((handle) => typeof handle === 'function', 'must be a function'),
        deadlineSeconds: z.int().min(1).max(300).optional(),
        streams: z.boolean().optional(),
        prepaid: z.boolean().optional(),
      }),
    )
    .refine((endpoints) => Object.keys(endpoints).length > 0, 'at least one endpoint'),
  schedules: Schedules,
})

const FamilyDeclaration = z.object({ family: Slug, schedules: Schedules })

/** Slugs that have another meaning at some entry point. */
const RESERVED = new Set(['external', 'health', 'mcp', 'v1', 'docs', 'proxy', 'admin'])

/**
 * Validates a declaration.
 * @param privileged true if it may have a reserved slug
 * @throws Error that names the service, the field and the problem
 */
export function validateService(service: AnyService, privileged = false): AnyService {
  const name = service.slug === undefined ? 'a service' : `service ${service.slug}`
  assertParsed(name, Declaration.safeParse(service))
  if (!privileged && isReserved(service.slug)) {
    throw new Error(`service ${service.slug}: the slug is reserved`)
  }
  return service
}

/** Validates a family's declaration; its services are validated when they are published. */
export function validateFamily(family: Family): Family {
  assertParsed(`family ${family.family}`, FamilyDeclaration.safeParse(family))
  return family
}

export const isFamily = (sold: AnyService | Family): sold is Family => 'find' in sold

/** Returns true if a slug has another meaning at some entry point. */
export const isReserved = (slug: string): boolean => RESERVED.has(slug)

function assertParsed(what: string, { error }: z.ZodSafeParseResult<unknown>): void {
  if (!error) return
  const [issue] = error.issues
  throw new Error(`${what}: ${issue?.path.join(' → ')}: ${issue ? textOf(issue) : 'not valid'}`)
}

/** Message of an issue; that of a key is inside. */
function textOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_key') return issue.issues[0]?.message ?? issue.message
  return issue.message.endsWith('received undefined') ? 'is required' : issue.message
}
