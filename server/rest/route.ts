import type { z } from 'zod'
import type { FaultCode } from '../../core/errors.ts'
import { Fault } from '../../core/errors.ts'
import type { Staff } from '../../core/finance/adjustments.ts'
import type { Manager } from '../../core/identity/children.ts'
import type { Caller, Seller } from '../../core/identity/keys.ts'
import type { Session } from '../../core/identity/sessions.ts'
import type { Micros } from '../../core/money.ts'
import type { Deprecation } from '../../core/plugin/deprecation.ts'
import { complaintsOf } from './complaints.ts'

/** A request to a REST route, with everything that the route declares already checked. */
export interface RestRequest<Body, Query> {
  readonly requestId: string
  readonly url: string
  readonly ip: string
  readonly params: Readonly<Record<string, string>>
  readonly body: Body
  readonly query: Query
  /** Who showed a key, where the route takes one. */
  readonly caller: Caller | undefined
  /** Who showed a key of a provider, where the route takes one. */
  readonly seller?: Seller | undefined
  /** Who is signed in, where the route takes that and no key was shown. */
  readonly session: Session | undefined
  /** Who asks, where the route is for people of the house alone. */
  readonly staff: Staff | undefined
  readonly header: (name: string) => string | undefined
}

export interface RestReply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
}

/** One REST route. The schemas that check it also describe it in the OpenAPI document. */
export interface Route<Body = unknown, Query = unknown> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** `/v1/services/{slug}` */
  readonly path: string
  readonly summary: string
  /**
   * `session`: somebody who is signed in; `owner`: a key, or somebody who is signed in; `provider`:
   * the same, or a key that is for what its principal sells; `finance` and `admin`: somebody of the
   * house with that role (an administrator has both), signed in, or by a key that no other made.
   */
  readonly auth: 'none' | 'key' | 'finance' | 'admin' | 'session' | 'owner' | 'provider'
  /** Takes a form of a page, beside JSON. */
  readonly form?: boolean
  /** Alike for everybody: read by pages of other sites, kept for half a minute, known by ETag. */
  readonly shared?: boolean
  /** That it will end; its callers are told with every answer. */
  readonly deprecated?: Deprecation
  /** Not counted against the caller's network: it has a limit of its own, or must always answer. */
  readonly unlimited?: boolean
  readonly body?: z.ZodType<Body>
  /** A body that the schema takes, for the documents. */
  readonly example?: unknown
  readonly query?: z.ZodType<Query>
  readonly answer: {
    readonly status: number
    /** Another status with the same body, such as the 202 of what is not settled yet. */
    readonly or?: number
    /** Where what a 201 made is found, by members of the body: `/v1/keys/{key_id}`. */
    readonly location?: string
    /** @defaultValue application/json */
    readonly type?: string
    readonly schema: z.ZodType
  }
  /** What is paid by x402 for it, in microdollars. */
  readonly price?: { readonly min: Micros; readonly max: Micros }
  readonly faults?: readonly FaultCode[]
  readonly handle: (request: RestRequest<Body, Query>) => Promise<RestReply>
}

/** A route whose types are forgotten, as the application holds it. */
export type AnyRoute = Route<unknown, unknown>

/** Declares a route. The types of `body` and `query` follow from its schemas. */
export const route = <Body = undefined, Query = undefined>(spec: Route<Body, Query>): AnyRoute =>
  spec as unknown as AnyRoute

/** The caller of a route that needs a key. */
export function callerOf({ caller }: { readonly caller: Caller | undefined }): Caller {
  if (!caller) throw new Fault('invalid_api_key')
  return caller
}

/** Who is signed in, on a route for those alone. */
export function sessionOf({ session }: { readonly session: Session | undefined }): Session {
  if (!session) throw new Fault('session_required')
  return session
}

/** Who acts, on a route for people of the house. */
export function staffOf({ staff }: { readonly staff: Staff | undefined }): Staff {
  if (!staff) throw new Fault('finance_only')
  return staff
}

/** What the caller of a route for owners manages. */
export const managerOf = (request: {
  readonly caller: Caller | undefined
  readonly session: Session | undefined
}): Manager => (request.caller ? [request.caller.keyId] : sessionOf(request).principals)

/**
 * Whose what a route makes is: the wallet's of a root, or the account's of whoever is signed in
 * (the first) and of the wallets that are linked to it.
 * @throws Fault `root_key_required` for a key that another key made
 */
export function ownerOf(
  request: Parameters<typeof managerOf>[0] & { readonly seller?: Seller | undefined },
): Manager {
  const { caller, seller } = request
  if (seller) return [seller.principal]
  if (!caller) return sessionOf(request).principals
  if (caller.limits.length > 0) throw new Fault('root_key_required')
  return [caller.principal]
}

/**
 * Checks a body or query against its schema.
 * @throws Fault `validation_failed` with the issues
 */
export function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  if (hasNul(value)) throw new Fault('validation_failed', 'Text may not contain U+0000.', NUL)
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issues = complaintsOf(schema, parsed.error)
  throw new Fault('validation_failed', `${issues[0]?.path}: ${issues[0]?.message}.`, {
    extras: { issues },
  })
}

/**
 * Nothing has a name with a control character, and PostgreSQL takes no text with U+0000.
 * @throws Fault `service_not_found`, `not_found`
 */
export function assertNames(params: Readonly<Record<string, string>>): void {
  if (!Object.values(params).some((value) => /\p{Cc}/u.test(value))) return
  throw new Fault('slug' in params ? 'service_not_found' : 'not_found')
}

/** No text with U+0000 is one that PostgreSQL can hold or look for. */
function hasNul(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\0')
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([name, inner]) => name.includes('\0') || hasNul(inner))
}

const NUL = { extras: { issues: [{ path: '/', message: 'contains U+0000' }] } } as const
