import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { RPC, RpcError } from './errors.ts'

export type Id = string | number
/** Content of one POST. Notifications and responses of clients are only acknowledged (202). */
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
 * Parses one JSON-RPC 2.0 message with the restrictions of MCP: no batches, no null or fractional
 * id, params only as an object. The library json-rpc-2.0 checks none of these.
 * @throws RpcError
 */
export function readMessage(value: unknown): Message {
  if (Array.isArray(value)) throw invalid('Batches are not supported. Send one message per POST.')
  if (!isJsonObject(value) || value['jsonrpc'] !== '2.0')
    throw invalid('Not a JSON-RPC 2.0 message.')
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

/** Id for the response to any body; undefined if it has none, because MCP allows no null id. */
export const idOf = (value: unknown): Id | undefined =>
  isJsonObject(value) && isId(value['id']) ? value['id'] : undefined

export const metaOf = ({ params }: Request): JsonObject =>
  isJsonObject(params['_meta']) ? params['_meta'] : {}

const invalid = (message: string): RpcError => new RpcError(RPC.invalidRequest, message)
