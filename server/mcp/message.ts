import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { RPC, RpcError } from './errors.ts'

export type Id = string | number
/** What may come in one POST. Notifications and answers of clients need nothing but a 202. */
export type Message =
  | {
      readonly kind: 'request'
      readonly id: Id
      readonly method: string
      readonly params: JsonObject
    }
  | { readonly kind: 'notification' }
  | { readonly kind: 'response' }

export type Request = Message & { readonly kind: 'request' }

/**
 * Reads one message of JSON-RPC 2.0 as MCP narrows it: no batches, no id that is null or a
 * fraction, params only as an object. What json-rpc-2.0 would let through is refused here.
 * @throws RpcError
 */
export function readMessage(value: unknown): Message {
  if (Array.isArray(value)) throw invalid('Batches are not supported: send one message a POST.')
  if (!isJsonObject(value) || value['jsonrpc'] !== '2.0')
    throw invalid('Not a message of JSON-RPC 2.0.')
  const { id, method, params = {} } = value
  if (typeof method !== 'string') {
    if ('result' in value || 'error' in value) return { kind: 'response' }
    throw invalid('"method" must be a string.')
  }
  if ('id' in value && !isId(id)) throw invalid('"id" must be a string or a whole number.')
  if (!isJsonObject(params)) throw new RpcError(RPC.invalidParams, '"params" must be an object.')
  return isId(id) ? { kind: 'request', id, method, params } : { kind: 'notification' }
}

export const isId = (id: unknown): id is Id => typeof id === 'string' || Number.isSafeInteger(id)

/** The id to answer to, of whatever came: MCP knows no null there. */
export const idOf = (value: unknown): Id | undefined =>
  isJsonObject(value) && isId(value['id']) ? value['id'] : undefined

/** `_meta` of a request's params. */
export const metaOf = ({ params }: Request): JsonObject =>
  isJsonObject(params['_meta']) ? params['_meta'] : {}

const invalid = (message: string): RpcError => new RpcError(RPC.invalidRequest, message)
