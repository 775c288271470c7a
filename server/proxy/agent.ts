import type { IncomingMessage } from 'node:http'
import { isSignedByAgent, type SignedMessage } from '../../core/agents/agent-verifier.ts'
import type { Caller } from '../../core/identity/keys.ts'
import { networkPrefix } from '../../core/usage/network.ts'
import { searchOf } from '../http/query.ts'
import type { CallDeps } from './call-deps.ts'
import type { AnonymousCaller, CallRequest } from './call-types.ts'

/**
 * Returns the request as an agent may have signed it; undefined without such a signature.
 * @param address public URL of the request without its query, whatever host the request names
 */
export const signedMessageOf = (
  { method = 'GET', url, headers }: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  address: () => string,
): SignedMessage | undefined =>
  isSignedByAgent(headers) ? { method, url: `${address()}${searchOf(url)}`, headers } : undefined

/**
 * Adds the agent that has signed the request, if it is verified. Otherwise the request goes on as
 * one without a signature, and a header says why.
 */
export async function identifyAgent(
  { agents }: Pick<CallDeps, 'agents'>,
  caller: Caller | AnonymousCaller,
  request: CallRequest,
  message: SignedMessage,
): Promise<CallRequest> {
  const party = caller.keyId === null ? networkPrefix(caller.ip) : caller.principal
  const verdict = await agents.verify(message, party)
  if ('problem' in verdict) {
    request.addHeaders?.({ 'X-Agent-Problem': verdict.problem })
    return request
  }
  request.addHeaders?.({ 'X-Agent': verdict.agent })
  return { ...request, agent: verdict.agent }
}
