import type { z } from 'zod'
import type { FaultCode } from '../../core/errors.ts'
import { Fault } from '../../core/errors.ts'
import type { Staff } from '../../core/finance/staff-acts.ts'
import type { Caller, ProviderCaller } from '../../core/identity/keys.ts'
import type { Session } from '../../core/identity/sessions.ts'
import type { KeyManager } from '../../core/identity/sub-keys.ts'
import type { Micros } from '../../core/money.ts'
import type { Deprecation } from '../../core/plugin/deprecation.ts'
import { inputErrorsOf } from './input-errors.ts'

/** Request to a REST route. Its body, query and credentials have been checked. */
export interface RestRequest<Body, Query> {
  readonly requestId: string
  readonly url: string
  readonly ip: string
  readonly params: Readonly<Record<string, string>>
  readonly body: Body
  readonly query: Query
  /** Set if the route accepts an agent key and one was sent. */
  readonly caller: Caller | undefined
  /** Set if the route accepts a provider key and one was sent. */
  readonly providerCaller?: ProviderCaller | undefined
  /** Set if the route accepts a session and no key was sent. */
  readonly session: Session | undefined
  /** Set if the route requires a role. */
  readonly staff: Staff | undefined
  readonly header: (name: string) => string | undefined
}

export interface RestReply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly body: unknown
}

/** REST route. Its schemas check requests and describe them in the OpenAPI document. */
export interface Route<Body = unknown, Query = unknown> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** `/v1/services/{slug}` */
  readonly path: string
  readonly summary: string
  /**
   * Credentials that the route accepts. `key`: an agent key. `session`: a signed-in person.
   * `owner`: either of them. `provider`: either of them, or a provider key. `auditor`,
   * `finance`, `admin`: staff with that role or a higher one, signed in or by a main key; auditors
   * may also read what finance may.
   */
  readonly auth: 'none' | 'key' | 'auditor' | 'finance' | 'admin' | 'session' | 'owner' | 'provider'
  /** True if the route accepts HTML forms in addition to JSON. */
  readonly acceptsForm?: boolean
  /** True if the response is the same for everyone: open to CORS, cached for 30 s, with ETag. */
  readonly shared?: boolean
  /** True if the last parameter of the path may contain slashes. */
  readonly hasDeepPath?: boolean
  /** Announces the end of the route with every response. */
  readonly deprecated?: Deprecation
  /** For a POST: true if repetitions have no further effect, or the body member that ensures it. */
  readonly repeatable?: true | 'key'
  /** True to skip the rate limit per network: the handler has its own, or must always run. */
  readonly unlimited?: boolean
  readonly body?: z.ZodType<Body>
  /** Valid body for the documentation. */
  readonly example?: unknown
  readonly query?: z.ZodType<Query>
  readonly response: {
    readonly status: number
    /** Alternative statuses with the same body, such as 202 for a pending settlement. */
    readonly or?: number | readonly number[]
    /** `Location` of a 201, filled from members of the body: `/v1/keys/{key_id}`. */
    readonly location?: string
    /** @defaultValue application/json */
    readonly type?: string
    readonly schema: z.ZodType
  }
  /** Price range payable by x402, in microdollars. */
  readonly price?: { readonly min: Micros; readonly max: Micros }
  readonly faults?: readonly FaultCode[]
  readonly handle: (request: RestRequest<Body, Query>) => Promise<RestReply>
}

/** Names in braces of a path: `id` of `/v1/keys/{id}`. */
type ParamsOf<Path> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamsOf<Rest>
  : never

/** Route with its type parameters erased. */
export type AnyRoute = Route<unknown, unknown>

/** Declares a route. @param endpoint method and path: `GET /v1/services/{slug}` */
export function route<
  const Endpoint extends `${Route['method']} ${string}`,
  Body = undefined,
  Query = undefined,
>(
  endpoint: Endpoint,
  spec: Omit<Route<Body, Query>, 'method' | 'path' | 'handle'> & {
    readonly handle: (
      request: RestRequest<Body, Query> & {
        readonly params: Readonly<Record<ParamsOf<Endpoint>, string>>
      },
    ) => Promise<RestReply>
  },
): AnyRoute {
  const [method, path] = endpoint.split(' ')
  return { method, path, ...spec } as unknown as AnyRoute
}

/** Returns the caller on a route that requires a key. */
export function callerOf({ caller }: { readonly caller: Caller | undefined }): Caller {
  if (!caller) throw new Fault('invalid_api_key')
  return caller
}

/** Returns the session on a route that requires one. */
export function sessionOf({ session }: { readonly session: Session | undefined }): Session {
  if (!session) throw new Fault('session_required')
  return session
}

/** Returns the staff member on a route that requires a role. */
export function staffOf({ staff }: { readonly staff: Staff | undefined }): Staff {
  if (!staff) throw new Fault('finance_only')
  return staff
}

/** Returns what the caller may manage: the key itself, or all principals of the session. */
export const managerOf = (request: {
  readonly caller: Caller | undefined
  readonly session: Session | undefined
}): KeyManager => (request.caller ? [request.caller.keyId] : sessionOf(request).principals)

/**
 * Returns the principals that own what a route creates and lists: the principal of a main key or
 * provider key, or the account of the session (first) and its linked wallets.
 * @throws Fault `root_key_required` for a sub-key
 */
export function ownerOf(
  request: Parameters<typeof managerOf>[0] & {
    readonly providerCaller?: ProviderCaller | undefined
  },
): KeyManager {
  const { caller, providerCaller } = request
  if (providerCaller) return [providerCaller.principal]
  if (!caller) return sessionOf(request).principals
  if (caller.limits.length > 0) throw new Fault('root_key_required')
  return [caller.principal]
}

/** Checks a value against its schema. @param subject its name @throws Fault `validation_failed` */
export function parse<T>(schema: z.ZodType<T>, value: unknown, subject = 'request'): T {
  if (hasNul(value)) throw new Fault('validation_failed', 'Text must not contain U+0000.', NUL)
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issues = inputErrorsOf(schema, parsed.error)
  const [{ path, message } = { path: '/', message: 'is invalid' }] = issues
  const detail = path === '/' ? `The ${subject} ${message}.` : `${path}: ${message}.`
  throw new Fault('validation_failed', detail, { extras: { issues } })
}

/**
 * Rejects path parameters with control characters: no resource has such a name, and PostgreSQL
 * rejects U+0000.
 * @throws Fault `service_not_found`, `not_found`
 */
export function assertNames(params: Readonly<Record<string, string>>): void {
  if (!Object.values(params).some((value) => /\p{Cc}/u.test(value))) return
  throw new Fault('slug' in params ? 'service_not_found' : 'not_found')
}

/** Returns true if any text in the value contains U+0000, which PostgreSQL rejects. */
function hasNul(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\0')
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([name, inner]) => name.includes('\0') || hasNul(inner))
}

const NUL = { extras: { issues: [{ path: '/', message: 'must not contain U+0000' }] } } as const
