import type { Readable } from 'node:stream'
import { z } from 'zod'
import type { Call } from '../plugin/index.ts'
import { PARAMETER_STYLES } from '../plugin/upstreams.ts'
import { findSchemaError } from '../plugin/validate.ts'
import { DETAIL_MAX } from './limits.ts'
import type { Piece } from './pieces.ts'

/** Messages between hub and isolated plugin: JSON, decimal amounts, base64 bytes; validated. */

const amount = z.string().regex(/^\d{1,19}$/)
const id = z.int().min(0)
const base64 = z.string().regex(/^[A-Za-z0-9+/]*={0,2}$/)
const headers = z.record(z.string(), z.string())
const code = z.string().transform((text) => text.slice(0, 64))
const detail = z.string().transform((text) => text.slice(0, DETAIL_MAX))
const extras = z.record(z.string(), z.unknown())
const schema = z.record(z.string(), z.unknown()).superRefine((json, context) => {
  const message = findSchemaError(json)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

/** Serialized error of a handler. */
const ThrownError = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('refusal'),
    status: z.literal([404, 422]),
    code,
    detail,
    extras,
  }),
  z.object({
    kind: z.literal('failure'),
    status: z.literal([502, 503, 504]),
    code,
    detail,
    extras,
    after: z.number().min(0).max(86_400).optional().catch(undefined),
  }),
  z.object({ kind: z.literal('error'), detail, stack: detail.optional() }),
])
export type ThrownError = z.infer<typeof ThrownError>

const Body = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('json'), value: z.unknown() }),
  z.object({ kind: z.literal('bytes'), base64 }),
  z.object({ kind: z.literal('stream') }),
])

const HandlerResult = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('value'), value: z.unknown() }),
  z.object({
    kind: z.literal('reply'),
    status: z.int(),
    headers,
    body: Body,
    isCharged: z.boolean().optional(),
  }),
  z.object({ kind: z.literal('presumed') }),
])
export type HandlerResult = z.infer<typeof HandlerResult>

const ParameterStyle = z.object({
  name: z.string().exactOptional(),
  style: z.enum(PARAMETER_STYLES),
  explode: z.boolean(),
})

/** Serialized declaration of a service; its functions stay in the plugin. */
const DeclaredService = z.object({
  slug: z.string(),
  name: z.string(),
  category: z.string(),
  summary: z.string(),
  provider: z.string(),
  freeCallsPerMonth: z.int().optional(),
  freeUnitsPerMonth: z.record(z.string(), z.int()).optional(),
  deprecated: z
    .object({
      since: z.iso.date(),
      sunset: z.iso.date().optional(),
      successor: z.string().optional(),
    })
    .optional(),
  endpoints: z.record(
    z.string(),
    z.object({
      summary: z.string(),
      price: z.union([
        z.object({ fixed: amount }),
        z.object({ max: amount, unit: z.string(), amount, per: amount }),
        z.object({ max: amount, min: amount.optional() }),
      ]),
      input: schema,
      output: schema.optional(),
      query: z.array(z.string()).optional(),
      styles: z.record(z.string(), ParameterStyle).optional(),
      form: z.record(z.string(), ParameterStyle).optional(),
      headers: z.array(z.string()).optional(),
      deadlineSeconds: z.int().optional(),
      streams: z.boolean().optional(),
      prepaid: z.boolean().optional(),
    }),
  ),
  schedules: z.record(
    z.string(),
    z.object({ everySeconds: z.int(), deadlineSeconds: z.int().optional() }),
  ),
  hasIsListed: z.boolean(),
})
export type DeclaredService = z.infer<typeof DeclaredService>

const FromPlugin = z.discriminatedUnion('is', [
  z.object({ is: z.literal('opened'), declared: DeclaredService }),
  z.object({ is: z.literal('refused'), detail }),
  z.object({ is: z.literal('done'), id, answer: HandlerResult }),
  z.object({ is: z.literal('priced'), id, amount, terms: z.unknown() }),
  z.object({ is: z.literal('failed'), id, thrown: ThrownError }),
  z.object({ is: z.literal('charge'), id, amount: z.unknown() }),
  z.object({ is: z.literal('meter'), id, unit: z.string(), quantity: z.unknown() }),
  z.object({ is: z.literal('piece'), id, base64 }),
  z.object({ is: z.literal('end'), id, broken: detail.optional() }),
  z.object({
    is: z.literal('request'),
    id,
    capability: z.enum(['http', 'backends', 'browser', 'database']),
    request: z.record(z.string(), z.unknown()),
  }),
  z.object({ is: z.literal('read'), id }),
  z.object({ is: z.literal('cancel'), id }),
  z.object({ is: z.literal('log'), message: detail, fields: extras.optional() }),
  z.object({ is: z.literal('pong'), id }),
])
/** Message from the plugin. */
export type FromPlugin = z.infer<typeof FromPlugin>

/** Report of a handler before its result, or while it streams; the values are not validated. */
export type Report = Extract<FromPlugin, { readonly is: 'charge' | 'meter' }>

/** Response to a plugin's use of an injected capability. */
export type CapabilityResult =
  | {
      readonly value: Readonly<Record<string, unknown>>
      readonly base64: string
      /** True if the body is a stream, whose pieces the plugin reads one by one. */
      readonly streams?: boolean
    }
  | {
      readonly error: 'egress' | 'render'
      readonly code: string
      readonly detail: string
      readonly sent: boolean
    }
  | {
      readonly error: 'database'
      readonly code: string
      readonly detail: string
      readonly fields: Readonly<Record<string, string>>
    }
  | { readonly error: 'denied'; readonly detail: string }

export type CapabilityError = Extract<CapabilityResult, { readonly error: string }>

/** Message from the hub. */
export type ToPlugin =
  | {
      readonly do: 'open'
      readonly entry: string
      readonly folder: string
      /** Time of the hub, in milliseconds since 1970. */
      readonly now: number
      readonly sandbox: boolean
      readonly secrets: Readonly<Record<string, string>>
      readonly injected: readonly string[]
    }
  | {
      readonly do: 'handle'
      readonly id: number
      readonly route: string
      readonly call: Pick<Call<unknown>, 'id' | 'input' | 'payer' | 'headers' | 'agent' | 'terms'>
      /** Amount reserved for a metered price. */
      readonly reserved?: string
    }
  | {
      readonly do: 'price'
      readonly id: number
      readonly route: string
      readonly input: unknown
      readonly agent?: string
    }
  | { readonly do: 'run'; readonly id: number; readonly schedule: string }
  | { readonly do: 'listed'; readonly id: number }
  | { readonly do: 'abort' | 'pull' | 'drop' | 'ping'; readonly id: number }
  | { readonly do: 'resolve'; readonly id: number; readonly result: CapabilityResult }
  | { readonly do: 'piece'; readonly id: number; readonly piece: Piece<CapabilityError> }

/** Work that the hub sends to the plugin. */
export type PluginTask = Task<'handle'> | Task<'price'> | Task<'run'> | Task<'listed'>
type Task<Kind> = Omit<Extract<ToPlugin, { readonly do: Kind }>, 'id'>

export type TaskResult = Extract<FromPlugin, { readonly is: 'done' | 'priced' }> & {
  /** Body, if it is a stream. */
  readonly stream?: Readable
}

/** @throws Error for an invalid message */
export function readMessage(text: string): FromPlugin {
  const { data, error } = FromPlugin.safeParse(JSON.parse(text))
  if (data) return data
  const [issue] = error.issues
  throw new Error(`${issue?.path.join('.')}: ${issue?.message}`)
}
